/** No whole file has this name. */
export class FileMissingError extends Error {
  readonly fileName: string;

  constructor(fileName: string, options: { cause?: unknown } = {}) {
    super(`The file ${fileName} does not exist.`, options);
    this.name = 'FileMissingError';
    this.fileName = fileName;
  }
}
