import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import { Bridge, type BridgeOptions } from "open-apple-models";

/** The folder of this package. */
export const packageFolder = fileURLToPath(new URL("..", import.meta.url));
/** The folder of the whole project. */
export const projectFolder = fileURLToPath(new URL("../../..", import.meta.url));

/** The program that is tested: OAM_BIN. */
export const oam = process.env["OAM_BIN"] ?? "oam";

export function readProjectFile(path: string): string {
  return readFileSync(`${projectFolder}${path}`, "utf8");
}

/** A bridge that ends with the test. What handlers throw fails the test, unless `onError` is given. */
export async function startBridge(test: TestContext, options: BridgeOptions = {}): Promise<Bridge> {
  const errors: unknown[] = [];
  const bridge = await Bridge.start({ onError: (error) => errors.push(error), ...options });
  test.after(async () => {
    await bridge.close();
    if (errors.length > 0) throw errors[0];
  });
  return bridge;
}

/** A promise and what settles it. */
export function deferred<Value = void>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve!: (value: Value) => void;
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Whether a process runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that has ended but was not waited for can still be signalled.
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

/** Waits until a process has ended; fails after 10 s. */
export async function untilGone(pid: number): Promise<void> {
  for (const end = Date.now() + 10_000; isAlive(pid); ) {
    if (Date.now() > end) throw new Error(`process ${pid} still runs`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
