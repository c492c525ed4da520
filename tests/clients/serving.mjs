// A server for OpenAI's JavaScript client. OAM_BIN names the program, OPENAI_FOLDER where `openai` and `zod` are installed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

/** Loads what is installed there. */
export const require = createRequire(path.join(process.env.OPENAI_FOLDER, "index.js"));
export const { default: OpenAI } = require("openai");
export const { z } = require("zod");

/** Calls `use` with a client of a server that plays these steps. */
export async function serving(steps, use, { flags = [], ...options } = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), "oam-"));
  const script = path.join(folder, "script.json");
  await writeFile(script, JSON.stringify(steps));
  const server = spawn(process.env.OAM_BIN, ["serve", "--port", "0", "--log-level", "error", ...flags], {
    env: { ...process.env, OAM_SCRIPT: script },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(server, "exit");
  try {
    const [line] = await once(createInterface({ input: server.stdout }), "line");
    const baseURL = line.split(" ")[4];
    await use(new OpenAI({ baseURL, apiKey: "any", maxRetries: 0, ...options }));
  } finally {
    server.kill("SIGTERM");
    const [code] = await exit;
    await rm(folder, { recursive: true });
    assert.equal(code, 0);
  }
}

/** Asks `ask` of a client of such a server, and expects this class and code. */
export function fails(expected, code, steps, ask, options) {
  const isExpected = (error) => {
    assert.equal(error.constructor, expected);
    assert.equal(error.code, code);
    return true;
  };
  return serving(steps, (client) => assert.rejects(ask(client), isExpected), options);
}
