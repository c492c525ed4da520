/** Any JSON value, as it comes from oam. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object, as it comes from oam. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/**
 * A value that is to become JSON. The types cannot tell all that JSON cannot carry; a request with NaN, an infinity, a bigint,
 * a function, a cycle or a lone surrogate in it throws a TypeError that names the place, and is not sent. Members that are
 * `undefined` are left out.
 */
export type JsonInput = string | number | boolean | null | object;

/** JSON Schema, as far as oam reads it: docs/PROTOCOL.md, "JSON Schema support". */
export interface JsonSchema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  properties?: Readonly<Record<string, JsonSchema | boolean>>;
  required?: readonly string[];
  items?: JsonSchema | boolean;
  enum?: readonly (string | number | boolean | null)[];
  anyOf?: readonly (JsonSchema | boolean)[];
  [keyword: string]: unknown;
}
