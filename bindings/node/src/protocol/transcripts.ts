import type { JsonObject, JsonValue } from "./json.js";

/** A conversation in its saved form: docs/PROTOCOL.md, "Transcripts". Keep it whole. */
export interface Transcript {
  type: "FoundationModels.Transcript";
  version: string;
  transcript: { entries: TranscriptEntry[] };
}

/** One entry; `role` is `instructions`, `user`, `response` or `tool`. */
export interface TranscriptEntry {
  id: string;
  role: "instructions" | "user" | "response" | "tool";
  contents?: TranscriptSegment[];
  /** Of a response: calls, with their arguments as JSON text. */
  toolCalls?: { id: string; name: string; arguments: string }[];
  /** Of a tool: the call that it answers. */
  toolCallID?: string;
  toolName?: string;
  /** Of the instructions. */
  tools?: JsonObject[];
  /** Of a prompt. */
  options?: JsonObject;
  contextOptions?: JsonObject;
  responseFormat?: JsonObject;
  /** Of a response. */
  assets?: JsonValue[];
  metadata?: JsonObject;
}

export type TranscriptSegment =
  | { id: string; type: "text"; text: string }
  | { id: string; type: "structure"; structure: { source: string; content: JsonValue } };
