import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { OamError, type ProcessExit } from "./error.js";
import { LineSplitter } from "./lines.js";

/** What is kept of standard error for the report of a death. */
const LAST_WORDS = 20;
const LOG_LINE_LIMIT = 64 * 1024;
/** No message is as long, and a longer one would be no string of JavaScript. */
const LINE_LIMIT = 256 * 1024 * 1024;
/** How long output may still come after the process has ended: its workers may hold the pipes. */
const OUTPUT_AFTER_EXIT_MS = 1000;
/** `shutdown` takes 2 s at most. */
const GRACE_MS = 5000;

export interface ProcessOptions {
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd: string | undefined;
  onLine(line: string): void;
  onLog(line: string): void;
}

/** Children that must not outlive this process, however it ends. */
const living = new Set<ChildProcess>();

function killLiving(): void {
  for (const child of living) child.kill("SIGTERM");
}

function watch(child: ChildProcess): void {
  if (living.size === 0) process.once("exit", killLiving);
  living.add(child);
}

function unwatch(child: ChildProcess): void {
  if (living.delete(child) && living.size === 0) process.removeListener("exit", killLiving);
}

/**
 * A running `oam stdio`: lines in, lines out. It ends with this process in any case: by a signal when this process exits in
 * whatever order, by the end of its pipes when it is killed.
 */
export class OamProcess {
  readonly #child: ChildProcess;
  readonly #stdin: Writable;
  readonly #lastWords: string[] = [];
  #drained: Promise<void> | undefined;
  #closing = false;
  #kept = true;

  /** How the process ended, once all of its output has been handed over. Never rejects. */
  readonly exited: Promise<ProcessExit>;

  private constructor(child: ChildProcess, options: ProcessOptions) {
    this.#child = child;
    this.#stdin = child.stdin!;
    watch(child);
    // A pipe that breaks is told by the exit that causes it.
    this.#stdin.on("error", () => {
      child.kill("SIGTERM");
      this.#killIfItStays();
    });
    // A program that has closed its output can answer nothing any more.
    child.stdout!.on("end", () => this.#killIfItStays());
    readLines(child.stdout!, new LineSplitter(options.onLine, LINE_LIMIT));
    readLines(child.stderr!, new LineSplitter((line) => this.#log(line, options.onLog), LOG_LINE_LIMIT));
    this.exited = this.#waitForEnd();
  }

  /** Starts the program. Fails with `spawn_failed`. */
  static async start(options: ProcessOptions): Promise<OamProcess> {
    const child = spawn(options.program, options.args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: options.env,
      cwd: options.cwd,
      windowsHide: true,
      // A Ctrl-C in the terminal is for the host, which may want to save its characters first.
      detached: process.platform !== "win32",
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error: NodeJS.ErrnoException) => reject(spawnError(error, options)));
    });
    // Later errors are about signals that could not be sent.
    child.on("error", () => {});
    return new OamProcess(child, options);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Hands a line over; it is written in order. */
  send(line: string): void {
    if (this.#stdin.writable) this.#stdin.write(`${line}\n`);
  }

  /** Resolves once the program has taken enough of what was sent. */
  drained(): Promise<void> {
    if (!this.#stdin.writableNeedDrain) return Promise.resolve();
    this.#drained ??= new Promise<void>((resolve) => {
      const done = () => {
        this.#drained = undefined;
        this.#stdin.off("drain", done).off("close", done);
        resolve();
      };
      this.#stdin.on("drain", done).on("close", done);
    });
    return this.#drained;
  }

  /** Whether this process is to be kept running for the sake of the program. */
  keepAlive(keep: boolean): void {
    const kept = keep || this.#closing;
    if (kept === this.#kept) return;
    this.#kept = kept;
    const { stdin, stdout, stderr } = this.#child;
    for (const handle of [this.#child, stdin, stdout, stderr] as (ChildProcess | Socket)[]) {
      if (kept) handle.ref();
      else handle.unref();
    }
  }

  /** Ends the input and waits for the end; after 5 s without one the program is killed. */
  async close(): Promise<ProcessExit> {
    this.#closing = true;
    this.keepAlive(true);
    this.#stdin.end();
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), GRACE_MS);
    try {
      return await this.exited;
    } finally {
      clearTimeout(killer);
    }
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #killIfItStays(): void {
    setTimeout(() => this.kill(), GRACE_MS).unref();
  }

  #log(line: string, onLog: (line: string) => void): void {
    this.#lastWords.push(line);
    if (this.#lastWords.length > LAST_WORDS) this.#lastWords.shift();
    onLog(line);
  }

  async #waitForEnd(): Promise<ProcessExit> {
    const child = this.#child;
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    await new Promise<void>((resolve) => child.once("exit", () => resolve()));
    unwatch(child);
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, OUTPUT_AFTER_EXIT_MS);
    });
    await Promise.race([closed, patience]);
    clearTimeout(timer);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    return { exitCode: child.exitCode, signal: child.signalCode, stderr: [...this.#lastWords] };
  }
}

function readLines(stream: Readable, lines: LineSplitter): void {
  stream.on("data", (chunk: Buffer) => lines.push(chunk));
  stream.on("end", () => lines.end());
  // What cannot be read any more has ended.
  stream.on("error", () => lines.end());
}

function spawnError(error: NodeJS.ErrnoException, options: ProcessOptions): OamError<"spawn_failed"> {
  const { program, cwd } = options;
  let message = `'${program}' could not be started: ${error.message}`;
  if (error.code === "ENOENT" && cwd !== undefined && !existsSync(cwd)) {
    message = `'${program}' could not be started: the folder '${cwd}' (option 'cwd') does not exist.`;
  } else if (error.code === "ENOENT") {
    message =
      `The program '${program}' was not found. Install oam, and put it into PATH, or name it with the option 'program' ` +
      "or the environment variable OAM_BIN.";
  } else if (error.code === "EACCES") {
    message = `'${program}' cannot be executed: it is a folder, or lacks the permission (chmod +x).`;
  }
  return new OamError("spawn_failed", message, { code: "spawn_failed", program });
}

/** The end of a process, in words. */
export function describeExit(exit: ProcessExit): string {
  const how = exit.signal === null ? `exited with code ${exit.exitCode}` : `was killed by ${exit.signal}`;
  const words = exit.stderr.filter((line) => line.trim() !== "").slice(-5);
  return words.length === 0 ? `oam ${how}.` : `oam ${how}; its last words: ${words.join("\n")}`;
}
