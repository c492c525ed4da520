import type { JsonInput } from "./json.js";
import type { Model, Usage } from "./model.js";
import type { AnyToolDefinition, ToolCallCompletedEvent, ToolCallRecord, ToolCallStartedEvent, ToolChoice } from "./tools.js";
import type { Transcript } from "./transcripts.js";

export type Emotion =
  | "neutral"
  | "happy"
  | "sad"
  | "angry"
  | "afraid"
  | "surprised"
  | "suspicious"
  | "amused"
  | "disgusted"
  | "excited"
  | "curious"
  | "confused"
  | "worried"
  | "grateful"
  | "annoyed"
  | "proud";

/** An emotion, or a synonym that oam may know; one that it does not know is `neutral`. */
export type EmotionInput = Emotion | (string & {});

/** Who a character is. */
export interface Persona {
  name: string;
  role?: string;
  personality?: string;
  speakingStyle?: string;
  backstory?: string;
  goals?: readonly string[];
  knowledge?: readonly string[];
  /** Kept from the model until the relationship reaches `secretsUnlockAtRelationship`. */
  secrets?: readonly string[];
  /** Default `neutral`. */
  defaultEmotion?: EmotionInput;
  /** Default 2. */
  maxSentences?: number;
}

/** What a character remembers. */
export interface Memory {
  /** Oldest first. */
  facts?: readonly string[];
  /** To the player, −100 to 100. */
  relationship?: number;
  /** What happened before. */
  summary?: string;
}

export interface NpcOptions {
  /** Default `automatic`. */
  replyFormat?: "automatic" | "structured" | "text";
  /** A tool that the first step of every turn must call. */
  groundingTool?: string;
  /** Default `explicit`. */
  toolChoice?: ToolChoice;
  /** Default 2. */
  maxToolRounds?: number;
  /** Default 6. */
  maxToolCalls?: number;
  toolTimeoutSeconds?: number;
  /** Paths that `read_world_state` may read; default everything, `[]` is no such tool. */
  worldReadable?: readonly string[];
  /** Paths that `update_world_state` may change; default none. */
  worldWritable?: readonly string[];
  /** Paths that every prompt tells of. */
  worldContextPaths?: readonly string[];
  memoryTools?: readonly MemoryTool[] | MemoryTool | "all" | "none";
  /** Default 12. */
  maxFacts?: number;
  /** Default 10. */
  maxRelationshipChange?: number;
  /** Default 50; null: secrets are told to the model from the start. */
  secretsUnlockAtRelationship?: number | null;
  emotions?: readonly EmotionInput[];
  /** 0–4, default 3. */
  playerOptionCount?: number;
  canEndConversation?: boolean;
  extraInstructions?: string;
  /** Default 8; 0 is never. */
  compactAfterTurns?: number;
  /** Default 2. */
  keepRecentTurns?: number;
  fallbackOnGuardrail?: boolean;
  fallbackLines?: readonly string[];
  temperature?: number;
  maximumResponseTokens?: number;
  /** Default 48. */
  barkMaximumTokens?: number;
}

export type MemoryTool = "rememberFact" | "changeRelationship";

/** Members that are null go back to their defaults. */
export type MergePatch<T> = { [K in keyof T]?: T[K] | null };

export interface NpcRef {
  npc: string;
}

export interface NpcCreateParams {
  npc?: string;
  persona: Persona;
  tools?: readonly AnyToolDefinition[] | null;
  world?: string | null;
  memory?: Memory | null;
  options?: NpcOptions | null;
  model?: Model | null;
}

export interface NpcCreateResult extends NpcRef {
  /** All tools that the model sees: the client's, the world's, the memory's. */
  tools: string[];
  warnings: string[];
}

export interface NpcTalkParams extends NpcRef {
  /** What the player says; blank is a player who says nothing. */
  line: string;
  /** What is happening right now, for this turn alone. */
  context?: JsonInput;
  /** Send `npc/event`s; default false. */
  stream?: boolean;
  toolChoice?: ToolChoice;
}

export interface NpcTalkResult extends NpcRef {
  /** Never empty. */
  line: string;
  emotion: Emotion;
  playerOptions: string[];
  endsConversation: boolean;
  toolCalls: ToolCallRecord[];
  relationship: number;
  isFallback: boolean;
  usage: Usage;
  warnings?: string[];
}

export interface NpcBarkParams extends NpcRef {
  situation?: JsonInput;
}

export interface NpcBarkResult extends NpcRef {
  line: string;
}

export interface NpcStateParams extends NpcRef {
  /** Wait for turns and summaries that are under way; default true. */
  settle?: boolean;
}

/** A saved NPC. Keep it whole. */
export interface NpcState {
  version: number;
  persona: Persona;
  memory: Memory;
  transcript: Transcript;
  npc?: string;
  options?: NpcOptions;
  tools?: AnyToolDefinition[];
  world?: string | null;
}

export interface NpcStateResult extends NpcRef {
  state: NpcState;
}

export interface NpcRestoreParams {
  state: NpcState | { state: NpcState };
  /** The presence of the keys npc, tools, options and world wins over what is saved, also as null. */
  npc?: string | null;
  tools?: readonly AnyToolDefinition[] | null;
  options?: NpcOptions | null;
  world?: string | null;
  model?: Model | null;
}

export interface NpcUpdateParams extends NpcRef {
  persona?: MergePatch<Persona>;
  memory?: MergePatch<Memory>;
  options?: MergePatch<NpcOptions>;
  tools?: readonly AnyToolDefinition[] | null;
}

export interface NpcUpdateResult extends NpcRef {
  warnings: string[];
}

export interface NpcResetParams extends NpcRef {
  /** Forget the memory, too; default false. */
  clearMemory?: boolean;
}

export interface NpcCancelResult extends NpcRef {
  cancelled: number;
}

export interface NpcDeleteResult extends NpcRef {
  deleted: true;
}

export interface NpcSummary extends NpcRef {
  name: string;
  role: string;
  world: string | null;
  model: string;
  tools: string[];
  turnCount: number;
  relationship: number;
  busy: boolean;
  pendingOperations: number;
  createdAt: string;
}

export interface NpcListResult {
  npcs: NpcSummary[];
}

/** The emotion, as soon as it is chosen; a later one replaces it. */
export interface EmotionEvent {
  type: "emotion";
  emotion: Emotion;
}

/** Append `delta` to the line. */
export interface LineDeltaEvent {
  type: "lineDelta";
  delta: string;
}

/** Show `line` instead of what was shown. */
export interface LineResetEvent {
  type: "lineReset";
  line: string;
}

export type NpcEvent = EmotionEvent | LineDeltaEvent | LineResetEvent | ToolCallStartedEvent | ToolCallCompletedEvent;
