export { Bridge, type BridgeOptions } from "./bridge.js";
export type { CallOptions, RequestOptions } from "./connection.js";
export { OamError, type ErrorCode, type LocalErrorCode, type ProcessExit } from "./error.js";
export { Npc, type SayOptions, type TalkOptions } from "./npc.js";
export * from "./protocol/index.js";
export { Session, type Reply, type RespondOptions, type TurnOptions } from "./session.js";
export type { ToolContext, ToolHandler, ToolReference, WithTools } from "./tools.js";
export { NpcTurn, SessionTurn, Turn } from "./turn.js";
export { World, type Subscription } from "./world.js";
