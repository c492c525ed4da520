const NEWLINE = 0x0a;

/** Cuts a stream of bytes into lines of UTF-8; work and memory grow with the bytes, however they are cut. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #limit: number;
  #parts: Buffer[] = [];
  #held = 0;

  /** A line that is longer than `limit` bytes is handed over in pieces. */
  constructor(onLine: (line: string) => void, limit = Infinity) {
    this.#onLine = onLine;
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#release();
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
    if (this.#held > this.#limit) this.#release();
  }

  /** The stream has ended: what has come of a last line is one. */
  end(): void {
    if (this.#held > 0) this.#release();
  }

  #hold(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#held += part.length;
  }

  #release(): void {
    const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#held);
    this.#parts = [];
    this.#held = 0;
    this.#onLine(line.toString("utf8").replace(/\r$/, ""));
  }
}
