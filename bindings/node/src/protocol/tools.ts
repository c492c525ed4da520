import type { JsonObject, JsonSchema, JsonValue } from "./json.js";
import type { RequestId } from "./methods.js";

/** Something that the model may ask the client to do. */
export interface ToolDefinition {
  /** 1–64 of `A–Z a–z 0–9 _ - .`; `respond_directly` is taken. */
  name: string;
  /** What it does and what it returns. The model decides by it. */
  description?: string;
  /** Of the arguments; none means no arguments. A string holds the schema's JSON text. */
  parameters?: JsonSchema | string;
  execution?: "client";
  /** Time for the answer, 0–86400; 0 is no limit. */
  timeoutSeconds?: number;
}

/** OpenAI's wrapper around a tool definition. */
export interface WrappedToolDefinition {
  type: "function";
  function: ToolDefinition;
}

export type AnyToolDefinition = ToolDefinition | WrappedToolDefinition;

/** How the model is held to tools: docs/PROTOCOL.md, "Tool choice". */
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | "explicit"
  | { tool: string }
  | { function: { name: string } };

/** A call that the model makes. */
export interface ToolCall {
  /** Unique for the call, the same in events and records. */
  id: string;
  name: string;
  arguments: JsonObject;
}

/** A call that has ended. */
export interface ToolCallRecord {
  call: ToolCall;
  /** The text or JSON that came back; of an error its message. */
  output: JsonValue;
  isError: boolean;
  durationSeconds: number;
}

/** A tool call has begun. */
export interface ToolCallStartedEvent {
  type: "toolCallStarted";
  call: ToolCall;
  /** `local` for tools that run inside oam. */
  execution: "client" | "local";
}

/** A tool call has ended. */
export interface ToolCallCompletedEvent {
  type: "toolCallCompleted";
  record: ToolCallRecord;
}

/**
 * What a tool call belongs to: a session, an NPC, a decision of several (`index`), or just a request. `requestId` is null
 * where the turn was asked for by a notification.
 */
export interface ToolCallOwner {
  session?: string;
  npc?: string;
  index?: number;
  requestId: RequestId | null;
}

/** Params of the request `tool/call`. */
export interface ToolCallParams extends ToolCallOwner {
  call: ToolCall;
}

/** Result of the request `tool/call`, made by the client. */
export interface ToolCallResult {
  output: JsonValue;
  isError?: boolean;
}

/** Params of the notification `tool/cancel`: the answer to the request `id` is no longer wanted. */
export interface ToolCancelParams extends ToolCallOwner {
  id: string;
  callId: string;
  reason: string;
}
