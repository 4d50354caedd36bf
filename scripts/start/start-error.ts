/** Something the person at the keyboard can put right; shown as one line, without a stack. */
export class StartError extends Error {}

/** The person asked to stop while the start was still under way. */
export class StoppedEarly extends Error {}
