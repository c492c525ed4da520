import type { JsonObject } from "./json.js";

/** Codes with which a model or a turn fails. */
export type AgentErrorCode =
  | "model_unavailable"
  | "guardrail_violation"
  | "refusal"
  | "context_size_exceeded"
  | "rate_limited"
  | "unsupported_language"
  | "invalid_schema"
  | "tool_failed"
  | "cancelled"
  | "busy"
  | "invalid_request"
  | "generation_failed";

/** Members of an error's `data` beside `code`. */
export interface ErrorDetails {
  parse_error: {};
  invalid_message: {};
  method_not_found: { method?: string };
  invalid_params: {};
  internal_error: {};
  /** `retryAfterSeconds` if its workers keep dying: when it is tried again. */
  model_unavailable: { retryAfterSeconds?: number };
  guardrail_violation: {};
  refusal: {};
  context_size_exceeded: {};
  rate_limited: { retryAfter?: string; retryAfterSeconds?: number };
  unsupported_language: {};
  /** `path` is the parameter, `schemaPath` the place in the schema. */
  invalid_schema: { path?: string; schemaPath?: string };
  tool_failed: {};
  cancelled: {};
  busy: { limit?: number };
  invalid_request: {};
  /** All there if the request ended so many workers. */
  generation_failed: { workerCrashes?: number; reason?: "crash" | "hang" | "violation"; signal?: string };
  /** The disk of a durable realm cannot be written. `applied`: whether the change was made all the same, where that is known. */
  storage_failed: { path?: string; reason: string; retryable: boolean; applied?: boolean };
  session_not_found: { session: string };
  session_exists: { session: string };
  session_limit: { limit: number };
  shut_down: {};
  timeout: {};
  npc_not_found: { npc: string };
  npc_exists: { npc: string };
  world_not_found: { world: string };
  world_exists: { world: string };
  world_error: { world: string; path: string };
  limit_reached: { limit: number };
  subscription_not_found: { subscription: string };
  too_many_connections: { limit: number; retryable: true };
  service_stopping: { retryable: true };
  realm_not_found: { realm: string };
  realm_in_use: { realm: string; connections: number };
  handover_refused: {};
  service_gave_up: { reason: string };
}

/** All codes of the protocol (`data.code`). */
export type ProtocolErrorCode = keyof ErrorDetails;

/** The number of each code (`code`). */
export const errorNumbers = {
  parse_error: -32700,
  invalid_message: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal_error: -32603,
  model_unavailable: -32001,
  guardrail_violation: -32002,
  refusal: -32003,
  context_size_exceeded: -32004,
  rate_limited: -32005,
  unsupported_language: -32006,
  invalid_schema: -32007,
  tool_failed: -32008,
  cancelled: -32009,
  busy: -32010,
  invalid_request: -32011,
  generation_failed: -32012,
  storage_failed: -32015,
  session_not_found: -32020,
  session_exists: -32021,
  session_limit: -32022,
  shut_down: -32023,
  timeout: -32024,
  npc_not_found: -32050,
  npc_exists: -32051,
  world_not_found: -32052,
  world_exists: -32053,
  world_error: -32054,
  limit_reached: -32055,
  subscription_not_found: -32056,
  too_many_connections: -32060,
  service_stopping: -32061,
  realm_not_found: -32062,
  realm_in_use: -32063,
  handover_refused: -32064,
  service_gave_up: -32065,
} as const satisfies Record<ProtocolErrorCode, number>;

/** The data of an error of one code. */
export type ErrorData<Code extends ProtocolErrorCode = ProtocolErrorCode> = {
  [C in Code]: { code: C } & ErrorDetails[C];
}[Code];

/** An error as it is written in messages. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: ErrorData | (JsonObject & { code?: string });
}
