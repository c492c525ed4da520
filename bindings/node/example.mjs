// An evening at the forge: tools, streaming, a decision, a saved character, an error.
// `node example.mjs` plays a script; `node example.mjs --live` asks the system's model.
import { Bridge, OamError } from "open-apple-models";

const live = process.argv.includes("--live");
/** A script in the place of the model, unless this is live. */
const script = (...steps) => (live ? {} : { model: { type: "scripted", steps } });

const bridge = await Bridge.start({ client: { name: "forge", version: "1.0" } });
const { available, reason } = await bridge.modelAvailability();
console.log(`oam ${bridge.version}; the system's model is ${available ? "available" : `unavailable (${reason})`}`);

const stock = { sword: { count: 3, price: 45 }, shield: { count: 1, price: 80 } };
bridge.tool(
  {
    name: "check_inventory",
    description: "Says how many of an item are in stock, and what one costs.",
    parameters: { type: "object", properties: { item: { type: "string", description: "singular" } }, required: ["item"] },
  },
  async ({ item }, { npc, session }) => {
    console.log(`  (${npc ?? session} looks for ${item})`);
    const found = stock[item.replace(/s$/, "")];
    if (!found) throw new Error(`There is no ${item} in stock.`);
    return found;
  },
);
bridge.tool({ name: "wave", description: "Waves at the player." }, () => console.log("  (a wave)"));

console.log("\n-- a session: the first step must call a tool");
const clerk = await bridge.createSession({
  instructions: "You keep the stock of a forge. Answer in one sentence.",
  tools: ["check_inventory", "wave"],
  options: { toolChoice: "required" },
  ...script(
    { toolCalls: [{ name: "check_inventory", arguments: { item: "swords" } }, { name: "wave" }] },
    { text: "We have three swords at 45 gold each.", chunks: 4 },
    { toolCalls: [{ name: "check_inventory", arguments: { item: "dragon" } }] },
    { template: "Sorry: {toolOutput}" },
    { json: { reasoning: "Three are plenty.", choice: "wait" } },
  ),
});
await clerk.respond("How many swords are there?", { onText: (delta) => process.stdout.write(delta) });
console.log();

console.log("\n-- a tool that fails: the model hears why");
console.log((await clerk.respond("Is there a dragon?")).text);

console.log("\n-- an answer in the form of a schema");
const { structured } = await clerk.respond("Shall we forge more swords?", {
  toolChoice: "none",
  schema: {
    type: "object",
    properties: { reasoning: { type: "string" }, choice: { enum: ["forge", "wait"] } },
    required: ["reasoning", "choice"],
  },
});
console.log(`${structured.choice}: ${structured.reasoning}`);

console.log("\n-- the conversation is saved and goes on elsewhere");
const later = await bridge.createSession({ history: await clerk.transcript(), ...script({ text: "As I said: three." }) });
console.log((await later.respond("How many were it again?", { toolChoice: "none" })).text);

console.log("\n-- a character in a world");
const village = await bridge.createWorld({ world: "village", state: { player: { name: "Aria", gold: 60 }, time: "evening" } });
const gorm = await bridge.createNpc({
  npc: "gorm",
  persona: { name: "Gorm", role: "the village blacksmith", speakingStyle: "Short, blunt sentences." },
  tools: ["check_inventory"],
  world: village.id,
  options: { groundingTool: "check_inventory", worldReadable: [], worldContextPaths: ["player", "time"] },
  ...script(
    { toolCalls: [{ name: "check_inventory", arguments: { item: "sword" } }] },
    { text: '{"emotion":"proud","line":"Three swords, lass. Forty-five gold.","player_options":["I take one."],"ends_conversation":false}', chunks: 6 },
    { toolCalls: [{ name: "check_inventory", arguments: { item: "sword" } }] },
    { text: '{"emotion":"happy","line":"A good choice.","player_options":["Goodbye."],"ends_conversation":true}', chunks: 3 },
  ),
});
for (const line of ["Got any swords?", "I take one."]) {
  console.log(`Aria: ${line}`);
  const turn = gorm.stream(line, { context: "It rains." });
  for await (const event of turn) {
    if (event.type === "emotion") process.stdout.write(`Gorm (${event.emotion}): `);
    else if (event.type === "lineDelta") process.stdout.write(event.delta);
    else if (event.type === "lineReset") process.stdout.write(`\n${event.line}`);
  }
  const { playerOptions } = await turn.result;
  console.log(`\n  → ${playerOptions.join(" / ")}`);
}
console.log(`The purse holds ${await village.set("player.gold", 15).then(() => village.get("player.gold"))} gold.`);

console.log("\n-- a decision");
const { optionID, confidence } = await bridge.decide({
  situation: "The last customer is drunk and has no bed.",
  actor: gorm.id,
  options: [{ id: "help", description: "Let him sleep by the fire" }, { id: "lock", description: "Lock the door" }],
  fallbackOptionID: "lock",
  ...script({ json: { reasoning: "Gruff, but fair.", choice: "help", confidence: 70 } }),
});
console.log(`Gorm chooses to ${optionID} (${confidence}% sure).`);

const state = await gorm.state();
await gorm.delete();
const restored = await bridge.restoreNpc(state, script({ text: "[neutral] Aye?" }));
console.log(`Saved and restored: ${restored.id}, with ${state.transcript.transcript.entries.length} entries.`);

console.log("\n-- an error");
try {
  await bridge.session("nobody").respond("Hello?");
} catch (error) {
  if (!OamError.is(error, "session_not_found")) throw error;
  console.log(`${error.code} (${error.number}): ${error.data.session}`);
}
await bridge.close();
