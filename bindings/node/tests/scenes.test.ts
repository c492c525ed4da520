import assert from "node:assert/strict";
import test from "node:test";
import { readProjectFile } from "./support.js";
import { playScene, type Scene } from "./scene.js";

const { scenes } = JSON.parse(readProjectFile("bindings/testdata/scenes.json")) as { scenes: Scene[] };

assert.ok(scenes.length > 0);
for (const scene of scenes) {
  test(scene.name, (context) => playScene(context, scene));
}
