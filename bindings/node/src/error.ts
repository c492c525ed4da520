import type { JsonObject } from "./protocol/json.js";
import { errorNumbers, type ErrorData, type ErrorObject, type ProtocolErrorCode } from "./protocol/errors.js";

/** How the process of a bridge ended. */
export interface ProcessExit {
  exitCode: number | null;
  /** The name of the signal that ended it. */
  signal: string | null;
  /** The last lines that it printed on standard error. */
  stderr: string[];
}

/** Data of errors that come from this package and not from oam. */
interface LocalErrorData {
  /** The program could not be started. */
  spawn_failed: { code: "spawn_failed"; program: string };
  /** The program ended, or closed its streams, without having been asked to. */
  process_exited: { code: "process_exited" } & ProcessExit;
}

export type LocalErrorCode = keyof LocalErrorData;

/** All codes that an {@link OamError} may have. Hosts of oam may add codes of their own. */
export type ErrorCode = ProtocolErrorCode | LocalErrorCode;

export type ErrorDataOf<Code extends string> = Code extends ProtocolErrorCode
  ? ErrorData<Code>
  : Code extends LocalErrorCode
    ? LocalErrorData[Code]
    : JsonObject & { code?: string };

const codesByNumber = new Map<number, string>(Object.entries(errorNumbers).map(([code, number]) => [number, code]));

/**
 * A request failed. Decide by `code`, which is stable; `message` is a sentence for people.
 *
 * ```js
 * if (OamError.is(error, "rate_limited")) await sleep(error.data.retryAfterSeconds ?? 60);
 * ```
 */
export class OamError<Code extends string = ErrorCode | (string & {})> extends Error {
  override readonly name = "OamError";
  readonly code: Code;
  /** JSON-RPC's number of the error; 0 for errors that come from this package. */
  readonly number: number;
  readonly data: ErrorDataOf<Code>;

  constructor(code: Code, message: string, data: ErrorDataOf<Code>, number: number = numberOf(code)) {
    super(message);
    this.code = code;
    this.number = number;
    this.data = data;
  }

  /** Whether `error` is an OamError with this code; tells TypeScript what is in its `data`. */
  static is<Code extends ErrorCode>(error: unknown, code: Code): error is OamError<Code> {
    return error instanceof OamError && error.code === code;
  }

  /** The error that a message carries. */
  static fromObject(error: Partial<ErrorObject>): OamError {
    const number = error.code ?? errorNumbers.internal_error;
    const code = error.data?.code ?? codesByNumber.get(number) ?? "internal_error";
    const data = { ...error.data, code } as ErrorDataOf<string>;
    return new OamError<string>(code, error.message ?? "Unknown error", data, number);
  }
}

function numberOf(code: string): number {
  return errorNumbers[code as ProtocolErrorCode] ?? 0;
}

export function shutDownError(): OamError<"shut_down"> {
  return new OamError("shut_down", "The bridge is closed.", { code: "shut_down" });
}
