/**
 * JSON that says exactly what the value says, or nothing. `JSON.stringify` turns NaN into null, Maps into {} and drops functions;
 * here each of them is a TypeError that names the place. Members that are undefined are left out.
 */

/** Arrays and objects inside each other that oam reads. */
const MAX_DEPTH = 100;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** JSON text of `value`, which is called `name` in errors. */
export function encodeJson(value: unknown, name: string): string {
  return JSON.stringify(copy(value, name, []));
}

function copy(value: unknown, path: string, parents: object[]): unknown {
  switch (typeof value) {
    case "string":
      if (LONE_SURROGATE.test(value)) throw notJson(path, "has half of a surrogate pair in it");
      return value;
    case "number":
      if (!Number.isFinite(value)) throw notJson(path, `is ${value}`);
      return value;
    case "boolean":
      return value;
    case "object":
      return value === null ? null : copyObject(value, path, parents);
    case "bigint":
      throw notJson(path, "is a bigint: pass a number or a string");
    default:
      throw notJson(path, `is ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}`);
  }
}

function copyObject(value: object, path: string, parents: object[]): unknown {
  if (parents.includes(value)) throw notJson(path, "contains itself");
  if (parents.length >= MAX_DEPTH - 1) throw notJson(path, `is nested more than ${MAX_DEPTH} deep`);
  const inside = [...parents, value];
  if (Array.isArray(value)) {
    return Array.from(value, (item, index) => copy(item, `${path}[${index}]`, inside));
  }
  if (value instanceof Map || value instanceof Set) {
    const remedy = value instanceof Map ? "Object.fromEntries(…)" : "[...…]";
    throw notJson(path, `is a ${value.constructor.name}: pass ${remedy}`);
  }
  if (ArrayBuffer.isView(value)) throw notJson(path, `is a ${value.constructor.name}: pass Array.from(…)`);
  if ("toJSON" in value && typeof value.toJSON === "function") return copy(value.toJSON(), path, inside);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return copy(value.valueOf(), path, inside);
  }
  // Without a prototype, a member "__proto__" is one like any other.
  const members: Record<string, unknown> = Object.create(null);
  for (const [key, member] of Object.entries(value)) {
    if (LONE_SURROGATE.test(key)) throw notJson(path, "has a key with half of a surrogate pair in it");
    if (member !== undefined) members[key] = copy(member, memberPath(path, key), inside);
  }
  return members;
}

function memberPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

function notJson(path: string, what: string): TypeError {
  return new TypeError(`${path} ${what}, which JSON cannot carry`);
}
