import type { ErrorObject } from "./errors.js";
import type { JsonInput, JsonSchema, JsonValue } from "./json.js";
import type { Model, Usage } from "./model.js";
import type { Persona } from "./npcs.js";
import type { AnyToolDefinition, ToolCallRecord, ToolChoice } from "./tools.js";

/** An option that may be chosen: an id, or an id and what it means. */
export type DecisionOption<Id extends string = string> = Id | { id: Id; description?: string };

/** How decisions are made. */
export interface DecisionSettings {
  instructions?: string;
  temperature?: number;
  /** Default 2. */
  maxToolRounds?: number;
  toolTimeoutSeconds?: number;
  model?: Model;
}

/** What is to be decided. */
export interface DecisionRequest<Id extends string = string> {
  situation: JsonInput;
  options: readonly DecisionOption<Id>[];
  /** The id of an NPC, or a persona. */
  actor?: string | Persona;
  context?: JsonInput;
  tools?: readonly AnyToolDefinition[];
  toolChoice?: ToolChoice;
  /** Chosen when the decision is blocked. */
  fallbackOptionID?: Id;
}

export interface DecideParams extends DecisionRequest, DecisionSettings {}

export interface Decision<Id extends string = string> {
  /** One of the ids, always. */
  optionID: Id;
  reasoning: string;
  /** 0 to 100. */
  confidence: number;
  toolCalls: ToolCallRecord[];
  usage: Usage;
  isFallback: boolean;
  warnings?: string[];
}

export interface DecideManyParams extends DecisionSettings {
  requests: readonly DecisionRequest[];
  /** Default 2. */
  maxConcurrency?: number;
}

/** A decision of several that failed. */
export interface FailedDecision {
  error: ErrorObject;
}

export interface DecideManyResult {
  results: (Decision | FailedDecision)[];
  warnings?: string[];
}

export interface GenerateParams {
  prompt: string;
  schema: JsonSchema;
  context?: JsonInput;
  instructions?: string;
  tools?: readonly AnyToolDefinition[];
  toolTimeoutSeconds?: number;
  temperature?: number;
  model?: Model;
}

export interface GenerateResult {
  content: JsonValue;
  warnings?: string[];
}
