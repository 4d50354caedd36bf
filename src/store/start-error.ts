/** Something is set up in a way that would break a promise. The message is the one line that a person needs. */
export class StartError extends Error {}
