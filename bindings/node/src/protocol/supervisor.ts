import type { JsonObject } from "./json.js";

/** What the worker processes do: docs/OPERATIONS.md. */
export interface SupervisorStatus {
  /** Oldest first. */
  workers: WorkerStatus[];
  waitingSteps: number;
  breaker: "closed" | "open" | "halfOpen";
  streamingTrusted: boolean;
  counters: {
    steps: number;
    /** By a signal's name, `exit N` or `not started`. */
    crashes: Record<string, number>;
    hangs: number;
    violations: number;
    replays: number;
    quarantined: number;
    recycled: number;
    started: number;
  };
  /** The last 8, the latest last. */
  lastExits: WorkerExit[];
}

export interface WorkerStatus {
  worker: string;
  /** Null until it runs. */
  pid: number | null;
  program?: { name: string; version: string };
  state: "starting" | "ready" | "busy" | "ending";
  uptimeSeconds: number;
  steps: number;
}

export interface WorkerExit {
  worker: string;
  /** In words. */
  exit: string;
  signal?: string;
  code?: number;
  stderr: string[];
}

/** Told to clients that asked with `workerEvents`. */
export type SupervisorEvent =
  | { type: "workerDied"; worker: string; exit: string; signal: string | null; steps: number }
  | {
      type: "workerHung";
      worker: string;
      cause: "not ready in time" | "no pong" | "no progress" | "cancel ignored" | "did not exit";
    }
  | { type: "workerViolated"; worker: string; reason: string }
  | { type: "workerRecycled"; worker: string }
  | { type: "stepReplayed"; worker: string; crashes: number }
  | { type: "stepQuarantined"; worker: string; crashes: number }
  | { type: "breakerOpened"; retryAfterSeconds: number }
  | { type: "breakerClosed" };

/** Params of the methods that take none. */
export type NoParams = Record<string, never>;

/** Result of the methods that say nothing. */
export type Nothing = JsonObject;
