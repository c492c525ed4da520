// The examples for JavaScript in the document of the server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { serving } from "./serving.mjs";

test("every example prints what it should", async () => {
  const document = await readFile(new URL("../../docs/SERVER.md", import.meta.url), "utf8");
  const examples = [...document.matchAll(/^```js\n(.*?)^```$/gms)].map(([, example]) => example);
  assert.notEqual(examples.length, 0);
  for (const example of examples) {
    await serving([{ text: "Amber, crimson and gold." }], async (client) => {
      const code = example.replace("http://127.0.0.1:1976/v1", client.baseURL);
      const file = path.join(process.env.OPENAI_FOLDER, "example.mjs");
      await writeFile(file, code);
      const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 60_000 });
      assert.equal(stdout, "Amber, crimson and gold.");
    });
  }
});
