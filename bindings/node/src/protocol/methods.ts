import type { DecideManyParams, DecideManyResult, DecideParams, Decision, GenerateParams, GenerateResult } from "./decisions.js";
import type { ModelAvailability } from "./model.js";
import type * as Npc from "./npcs.js";
import type * as Server from "./server.js";
import type * as Session from "./sessions.js";
import type { NoParams, Nothing, SupervisorEvent, SupervisorStatus } from "./supervisor.js";
import type { ToolCallParams, ToolCallResult, ToolCancelParams } from "./tools.js";
import type * as World from "./worlds.js";

/** The id of a request. */
export type RequestId = string | number;

/** Params and result of every method. */
export interface Methods {
  initialize: { params: Server.InitializeParams; result: Server.InitializeResult };
  ping: { params: NoParams; result: Nothing };
  shutdown: { params: NoParams; result: Nothing };
  "model/availability": { params: NoParams; result: ModelAvailability };
  "schema/validate": { params: Server.SchemaValidateParams; result: Server.SchemaValidateResult };
  "tools/validate": { params: Server.ToolsValidateParams; result: Server.ToolsValidateResult };
  "supervisor/status": { params: NoParams; result: SupervisorStatus };

  "session/create": { params: Session.SessionCreateParams; result: Session.SessionCreateResult };
  "session/respond": { params: Session.SessionRespondParams; result: Session.SessionRespondResult };
  "session/cancel": { params: Session.SessionRef; result: Session.SessionCancelResult };
  "session/reset": { params: Session.SessionRef; result: Session.SessionRef };
  "session/delete": { params: Session.SessionRef; result: Session.SessionDeleteResult };
  "session/list": { params: NoParams; result: Session.SessionListResult };
  "session/transcript": { params: Session.SessionRef; result: Session.SessionTranscriptResult };
  "session/setInstructions": { params: Session.SessionSetInstructionsParams; result: Session.SessionRef };
  "session/setContextNote": { params: Session.SessionSetContextNoteParams; result: Session.SessionRef };
  "session/setTools": { params: Session.SessionSetToolsParams; result: Session.SessionSetToolsResult };
  "session/compact": { params: Session.SessionCompactParams; result: Session.SessionCompactResult };

  "npc/create": { params: Npc.NpcCreateParams; result: Npc.NpcCreateResult };
  "npc/talk": { params: Npc.NpcTalkParams; result: Npc.NpcTalkResult };
  "npc/bark": { params: Npc.NpcBarkParams; result: Npc.NpcBarkResult };
  "npc/state": { params: Npc.NpcStateParams; result: Npc.NpcStateResult };
  "npc/restore": { params: Npc.NpcRestoreParams; result: Npc.NpcCreateResult };
  "npc/update": { params: Npc.NpcUpdateParams; result: Npc.NpcUpdateResult };
  "npc/reset": { params: Npc.NpcResetParams; result: Npc.NpcRef };
  "npc/cancel": { params: Npc.NpcRef; result: Npc.NpcCancelResult };
  "npc/delete": { params: Npc.NpcRef; result: Npc.NpcDeleteResult };
  "npc/list": { params: NoParams; result: Npc.NpcListResult };

  "decision/decide": { params: DecideParams; result: Decision };
  "decision/decideMany": { params: DecideManyParams; result: DecideManyResult };
  "content/generate": { params: GenerateParams; result: GenerateResult };

  "world/create": { params: World.WorldCreateParams; result: World.WorldVersion };
  "world/get": { params: World.WorldPath; result: World.WorldGetResult };
  "world/set": { params: World.WorldSetParams; result: World.WorldWriteResult };
  "world/merge": { params: World.WorldMergeParams; result: World.WorldWriteResult };
  "world/remove": { params: World.WorldRemoveParams; result: World.WorldRemoveResult };
  "world/snapshot": { params: World.WorldRef; result: World.WorldSnapshotResult };
  "world/delete": { params: World.WorldRef; result: World.WorldDeleteResult };
  "world/list": { params: NoParams; result: World.WorldListResult };
  "world/subscribe": { params: World.WorldPath; result: World.WorldSubscription };
  "world/unsubscribe": { params: World.WorldUnsubscribeParams; result: World.WorldUnsubscribeResult };
}

export type Method = keyof Methods;
export type MethodParams<M extends Method> = Methods[M]["params"];
export type MethodResult<M extends Method> = Methods[M]["result"];

/** Params of every notification from oam. */
export interface Notifications {
  "session/event": { session: string; requestId: RequestId | null; event: Session.SessionEvent };
  "npc/event": { npc: string; requestId: RequestId | null; event: Npc.NpcEvent };
  "world/changed": World.WorldChange;
  "tool/cancel": ToolCancelParams;
  "supervisor/event": { event: SupervisorEvent };
}

export type NotificationMethod = keyof Notifications;
export type NotificationParams<M extends NotificationMethod> = Notifications[M];

/** Params and result of every request from oam. */
export interface ClientRequests {
  "tool/call": { params: ToolCallParams; result: ToolCallResult };
}

/** The events that a streamed request of a method brings. */
export type EventOf<M extends Method> = M extends "session/respond"
  ? Session.SessionEvent
  : M extends "npc/talk"
    ? Npc.NpcEvent
    : never;
