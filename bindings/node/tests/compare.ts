import assert from "node:assert/strict";

/** Checks what came against what a scene expects: bindings/testdata/README.md. */
export function assertMatches(expected: unknown, actual: unknown, place: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${place}: ${JSON.stringify(actual)} is no array`);
    assert.equal(actual.length, expected.length, `${place}: items`);
    expected.forEach((item, index) => assertMatches(item, actual[index], `${place}[${index}]`));
  } else if (typeof expected === "object" && expected !== null) {
    assertMatchesObject(expected as Record<string, unknown>, actual, place);
  } else {
    assert.deepEqual(actual, expected, place);
  }
}

function assertMatchesObject(expected: Record<string, unknown>, actual: unknown, place: string): void {
  if ("$contains" in expected) {
    assert.ok(String(actual).toLowerCase().includes(String(expected["$contains"]).toLowerCase()), `${place}: ${String(actual)}`);
    return;
  }
  assert.ok(typeof actual === "object" && actual !== null, `${place}: ${JSON.stringify(actual)} is no object`);
  const members = actual as Record<string, unknown>;
  if ("$keys" in expected) {
    assert.deepEqual(Object.keys(members), expected["$keys"], place);
    return;
  }
  for (const [key, value] of Object.entries(expected)) {
    if (isAbsent(value)) assert.ok(!(key in members), `${place}.${key} is there`);
    else assertMatches(value, members[key], `${place}.${key}`);
  }
}

function isAbsent(value: unknown): boolean {
  return typeof value === "object" && value !== null && "$absent" in value;
}
