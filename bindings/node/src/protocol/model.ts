import type { JsonInput } from "./json.js";
import type { AgentErrorCode } from "./errors.js";

/** Which model is asked: the system's, or a script. */
export type Model = "system" | "scripted" | { type: "system" } | ScriptedModel;

/** A script in the place of a model: docs/PROTOCOL.md, "Scripted model". */
export interface ScriptedModel {
  type: "scripted";
  /** Played in order, one for each inference. */
  steps?: readonly ScriptStep[];
  /** Played after the last of `steps`. */
  fallback?: ScriptStep;
}

export type ScriptStep = (
  | { text: string; chunks?: number }
  | { template: string; chunks?: number }
  | { json: JsonInput }
  | { toolCalls: readonly ScriptedToolCall[] }
  | { error: AgentErrorCode; message?: string }
) & {
  /** Waits so many milliseconds first. */
  delayMs?: number;
};

export interface ScriptedToolCall {
  name: string;
  arguments?: JsonInput;
  /** The call's id in the transcript. */
  id?: string;
}

/** Whether the model "system" can be asked. */
export interface ModelAvailability {
  available: boolean;
  reason?: "device_not_eligible" | "apple_intelligence_not_enabled" | "model_not_ready" | "unknown";
  /** In tokens. */
  contextSize: number;
  /** The model's own name. */
  variant?: string;
  /** Sorted BCP 47 tags. */
  supportedLanguages: string[];
}

/** Tokens of the attempt that succeeded. */
export interface Usage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  totalTokens: number;
}
