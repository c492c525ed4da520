/** What the documents show runs, and what is packed is whole and works elsewhere. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { packageFolder, projectFolder, readProjectFile } from "./support.js";

/** The example of the guide, and what it prints. */
function guide(): { program: string; output: string } {
  const section = /^## Node$([^]*?)(?=^## |(?![^]))/m.exec(readProjectFile("bindings/README.md"))![1]!;
  const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "m").exec(section)![1]!;
  return { program: block("js"), output: block("text") };
}

function emptyFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "oam-node-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function run(file: string, cwd: string): string {
  return execFileSync(process.execPath, [file], { cwd, encoding: "utf8" });
}

test("the guide's example runs as it stands", () => {
  const { program, output } = guide();
  mkdirSync(`${packageFolder}build/generated`, { recursive: true });
  writeFileSync(`${packageFolder}build/generated/guide.mjs`, program);
  assert.equal(run(`${packageFolder}build/generated/guide.mjs`, projectFolder), output);
  assert.ok(program.trimEnd().split("\n").length <= 11);
});

test("the example plays to its end", () => {
  const output = run("example.mjs", packageFolder);
  for (const line of ["Sorry: Error: There is no dragon in stock.", "Gorm (happy): A good choice.", "session_not_found (-32020): nobody"]) {
    assert.ok(output.includes(line), output);
  }
});

test("the package has the version and the licence of the project", () => {
  const version = /^\[workspace\.package\]\nversion = "(.*)"/m.exec(readProjectFile("Cargo.toml"))![1]!;
  for (const file of ["package.json", "package-lock.json"]) {
    assert.equal((JSON.parse(readProjectFile(`bindings/node/${file}`)) as { version: string }).version, version, file);
  }
  assert.equal(readProjectFile("bindings/node/LICENSE"), readProjectFile("LICENSE"));
});

test("what is packed installs into an empty folder, runs and type-checks there", (context) => {
  const folder = emptyFolder(context);
  const npm = (...args: string[]) => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const packed = npm("pack", "--silent", "--ignore-scripts", packageFolder).trim();
  npm("install", "--silent", "--offline", "--no-audit", "--no-fund", `./${packed}`);
  const { program, output } = guide();
  writeFileSync(join(folder, "guide.mjs"), program);
  mkdirSync(join(folder, "bindings/testdata"), { recursive: true });
  copyFileSync(`${projectFolder}bindings/testdata/smith.json`, join(folder, "bindings/testdata/smith.json"));
  assert.equal(run("guide.mjs", folder), output);

  const source = `import { Bridge, OamError, type Emotion } from "open-apple-models";
    const bridge: Bridge = await Bridge.start();
    const { optionID } = await bridge.decide({ situation: "?", options: ["flee", { id: "fight" }] });
    const chosen: "flee" | "fight" = optionID;
    const reply = await bridge.npc("gorm").talk("Hello");
    const emotion: Emotion = reply.emotion;
    // @ts-expect-error A member that no NPC has.
    await bridge.createNpc({ persona: { name: "Gorm", mood: "grim" } });
    // @ts-expect-error The session is missing.
    await bridge.request("session/respond", { prompt: "Hello" });
    try { await bridge.request("ping"); } catch (error) {
      if (OamError.is(error, "session_limit")) { const limit: number = error.data.limit; console.log(limit); }
    }
    console.log(chosen, emotion);`;
  writeFileSync(join(folder, "consumer.mts"), source);
  const tsc = join(packageFolder, "node_modules/typescript/bin/tsc");
  const typeRoots = join(packageFolder, "node_modules/@types");
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--typeRoots", typeRoots, "--types", "node"];
  execFileSync(process.execPath, [tsc, ...options, "consumer.mts"], { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
});
