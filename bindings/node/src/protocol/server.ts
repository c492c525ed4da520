import type { JsonInput, JsonObject, JsonSchema } from "./json.js";
import type { ModelAvailability } from "./model.js";
import type { AnyToolDefinition } from "./tools.js";

export interface InitializeParams {
  /** Who you are, for the log. `workerEvents` asks for `supervisor/event`s. */
  client?: { name?: string; version?: string; workerEvents?: boolean; [member: string]: JsonInput | undefined };
  protocolVersion?: string;
}

export interface InitializeResult {
  protocolVersion: string;
  server: { name: string; version: string };
  capabilities: Capabilities;
  model: ModelAvailability;
}

/** What a build of oam serves. */
export interface Capabilities {
  methods: string[];
  notifications: string[];
  clientRequests: string[];
  streaming: boolean;
  clientTools: boolean;
  structuredOutput: boolean;
  models: string[];
  maxSessions: number;
  batch: boolean;
}

export interface SchemaValidateParams {
  schema: JsonSchema;
  /** The root type's name unless the schema has a title; default `Response`. */
  name?: string;
}

export interface SchemaValidateResult {
  warnings: string[];
  generationSchema: JsonObject;
}

export interface ToolsValidateParams {
  tools: readonly AnyToolDefinition[];
}

export interface ToolsValidateResult {
  tools: { name: string; warnings: string[]; generationSchema: JsonObject }[];
  warnings: string[];
}
