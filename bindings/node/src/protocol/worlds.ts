import type { JsonInput, JsonObject, JsonValue } from "./json.js";

export interface WorldRef {
  world: string;
}

/** A place in a world: keys and list positions joined by dots (`party.0.name`); the root is `""`. */
export interface WorldPath extends WorldRef {
  path?: string;
}

export interface WorldCreateParams {
  world?: string;
  state?: object | null;
}

/** Counts the writes that changed something. */
export interface WorldVersion extends WorldRef {
  version: number;
}

export interface WorldGetResult extends WorldVersion {
  path: string;
  /** Null where there is none. */
  value: JsonValue;
  exists: boolean;
}

export interface WorldSetParams extends WorldPath {
  value: JsonInput;
}

export interface WorldMergeParams extends WorldPath {
  /** A merge patch: objects merge, null deletes, all else replaces. */
  patch: JsonInput;
}

export interface WorldWriteResult extends WorldVersion {
  path: string;
}

export interface WorldRemoveParams extends WorldRef {
  path: string;
}

export interface WorldRemoveResult extends WorldWriteResult {
  removed: boolean;
  oldValue: JsonValue;
}

export interface WorldSnapshotResult extends WorldVersion {
  state: JsonObject;
}

export interface WorldDeleteResult extends WorldRef {
  deleted: true;
  endedSubscriptions: number;
}

export interface WorldSubscription extends WorldRef {
  subscription: string;
  path: string;
}

export interface WorldUnsubscribeParams {
  subscription: string;
}

export interface WorldUnsubscribeResult extends WorldSubscription {
  unsubscribed: true;
}

export interface WorldSummary extends WorldVersion {
  /** How many live in it. */
  npcs: number;
  subscriptions: WorldSubscription[];
  createdAt: string;
}

export interface WorldListResult {
  worlds: WorldSummary[];
}

/** Params of `world/changed`: a value is absent where there was, or is, none. */
export interface WorldChange extends WorldRef {
  subscription: string;
  path: string;
  oldValue?: JsonValue;
  newValue?: JsonValue;
}
