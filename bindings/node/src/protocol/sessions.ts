import type { JsonSchema, JsonValue } from "./json.js";
import type { Model, Usage } from "./model.js";
import type { AnyToolDefinition, ToolCallCompletedEvent, ToolCallRecord, ToolCallStartedEvent, ToolChoice } from "./tools.js";
import type { Transcript } from "./transcripts.js";

export interface SessionRef {
  session: string;
}

/** What a session or a turn may spend on tools. */
export interface TurnPolicy {
  /** Default `auto`. */
  toolChoice?: ToolChoice;
  /** Rounds of tool calls in a turn; default 4. */
  maxToolRounds?: number;
  /** Tool calls in a turn; default 12. */
  maxToolCalls?: number;
  /** The tools that the model may see; default all. */
  enabledTools?: readonly string[];
}

export interface SessionOptions extends TurnPolicy {
  temperature?: number;
  maxResponseTokens?: number;
  sampling?: "greedy" | { topK: number; seed?: number } | { topP: number; seed?: number };
  /** Time limit of a tool call, 0–86400; default 120, 0 is none. */
  toolTimeoutSeconds?: number;
  /** Hide the oldest turns when the context would overflow; default true. */
  trimHistory?: boolean;
  /** Kept free for the answer; default 1024. */
  reservedResponseTokens?: number;
  /** Tries of a turn in all; default 2. */
  maxAttempts?: number;
}

export interface SessionCreateParams {
  session?: string;
  /** With `history`, the mere presence of the key wins over what is saved, also as null. */
  instructions?: string | null;
  /** With `history`, the mere presence of the key wins over what is saved, also as null. */
  tools?: readonly AnyToolDefinition[] | null;
  options?: SessionOptions | null;
  history?: Transcript | { transcript: Transcript } | null;
  model?: Model | null;
}

export interface SessionCreateResult extends SessionRef {
  warnings: string[];
}

export interface SessionRespondParams extends SessionRef, TurnPolicy {
  prompt: string;
  /** Send `session/event`s; default false. */
  stream?: boolean;
  /** Of the answer, which is then JSON. */
  schema?: JsonSchema | null;
}

/** A step of a turn, as the model is asked. */
export interface Step {
  /** Counts the attempt's steps, from 0. */
  index: number;
  completedToolRounds: number;
  toolCallingMode: "allowed" | "required" | "disallowed";
  enabledTools: string[];
  /** How many entries of the transcript are hidden. */
  trimmedEntries: number;
}

export interface SessionRespondResult extends SessionRef {
  text: string;
  /** Only with a schema. */
  structured?: JsonValue;
  toolCalls: ToolCallRecord[];
  usage: Usage;
  steps: Step[];
  warnings?: string[];
}

export interface SessionCancelResult extends SessionRef {
  cancelled: number;
}

export interface SessionDeleteResult extends SessionRef {
  deleted: true;
}

export interface SessionSummary extends SessionRef {
  model: string;
  instructions?: string;
  tools: string[];
  busy: boolean;
  pendingOperations: number;
  entries: number;
  createdAt: string;
}

export interface SessionListResult {
  sessions: SessionSummary[];
}

export interface SessionTranscriptResult extends SessionRef {
  transcript: Transcript;
}

export interface SessionSetInstructionsParams extends SessionRef {
  instructions?: string | null;
}

export interface SessionSetContextNoteParams extends SessionRef {
  note?: string | null;
}

export interface SessionSetToolsParams extends SessionRef {
  tools: readonly AnyToolDefinition[];
}

export interface SessionSetToolsResult extends SessionRef {
  warnings: string[];
}

export interface SessionCompactParams extends SessionRef {
  /** Default 2. */
  keepRecentTurns?: number;
  summaryInstructions?: string;
}

export interface SessionCompactResult extends SessionRef {
  /** Null when there was nothing to do. */
  summary: string | null;
}

/** The model is about to be asked. */
export interface ModelStepEvent {
  type: "modelStep";
  step: Step;
}

/** The answer grew; with `isReset`, replace what you show by `delta`, which is all of it. */
export interface TextEvent {
  type: "text";
  delta: string;
  text: string;
  isReset: boolean;
}

/** The structured answer so far; may break the schema. */
export interface PartialEvent {
  type: "partial";
  value: JsonValue;
}

export type SessionEvent = ModelStepEvent | TextEvent | PartialEvent | ToolCallStartedEvent | ToolCallCompletedEvent;
