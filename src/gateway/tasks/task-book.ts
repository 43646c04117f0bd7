import type { AskedKinds } from "../../model/client-feature.ts";
import type { JsonObject } from "../../model/json.ts";
import { isJsonObject, readOwn, readOwnString } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import type { RecordKey, RecordReads, RecordSets, RecordWrites } from "../../model/records.ts";
import type { Era } from "../../model/revision.ts";
import { readAskedKinds, writeAskedKinds } from "../../protocol/asked-kinds.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { Bound, Opened, Sealing } from "../sealing.ts";
import { keptState } from "./kept-state.ts";

/** Whose tasks: every id and record is bound to all three. */
export interface TaskOwner {
  readonly tenant: string;
  readonly server: string;
  readonly principalKey: string;
}

/** Which task: of which tool of which upstream, made in which form. `id` is the upstream's own. */
export interface TaskName {
  readonly era: Era;
  readonly upstream: string;
  readonly tool: string;
  readonly id: string;
}

/** A task as the gateway remembers it. */
export interface KeptTask {
  readonly name: TaskName;
  /** The id that the client has. */
  readonly handle: string;
  /** The arguments of the call, for decisions on the task; undefined when they were too long to keep. */
  readonly args: JsonObject | undefined;
  /** What was last heard of it, as the client was told; of one that is too long what a client relies on (`keptState`). */
  readonly state: JsonObject;
  /** What the client was last told that it asks; undefined: nothing, or more than is kept. */
  readonly asked?: AskedKinds | undefined;
  /** Milliseconds since the epoch. */
  readonly keptAt: number;
  readonly expiresAt: number;
}

/**
 * Tasks that principals have at upstreams. An id alone leads to its task, so that it works on every replica and
 * without the record; the record is for lists, for decisions, and to find a task that an upstream speaks of by its
 * own id. Everything here rejects with `StoreUnavailable` but `seal` and `open`.
 */
export interface TaskBook {
  /** The client's id of a task: sealed to its owner, good for `taskAgeMsMax`. */
  seal(owner: TaskOwner, name: TaskName): string;
  open(owner: TaskOwner, handle: string): { readonly name: TaskName } | { readonly because: string };
  /** Whether the owner may have another task. */
  hasRoom(owner: TaskOwner): Promise<boolean>;
  keep(owner: TaskOwner, task: KeptTask): Promise<void>;
  find(owner: TaskOwner, name: Pick<TaskName, "upstream" | "id">): Promise<KeptTask | undefined>;
  forget(owner: TaskOwner, name: TaskName): Promise<void>;
  /** Oldest first. */
  all(owner: TaskOwner): Promise<readonly KeptTask[]>;
}

export type TaskRecords = RecordReads & Pick<RecordWrites, "set" | "delete"> & RecordSets;

export interface TaskBookOptions {
  readonly records: TaskRecords;
  readonly sealing: Sealing;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<Limits, "tasksPerPrincipalMax" | "taskAgeMsMax">;
  /** A short name for an upstream's id, which may be long and is the upstream's own. */
  readonly digest: (text: string) => string;
}

/**
 * Records are sealed like ids: arguments and what upstreams say stay unreadable in the store, and whole. Whatever an
 * upstream says of a task, its record can be sealed: each part has a bound of its own, whose sum fits
 * `sealedHandleCharsMax` even when every character of them is escaped. Arguments are bounded by whoever keeps them.
 */
export function createTaskBook(options: TaskBookOptions): TaskBook {
  const { records, sealing, now, limits, digest } = options;
  const memberOf = ({ upstream, id }: Pick<TaskName, "upstream" | "id">): string => digest(writeJson([upstream, id]));
  const read = async (owner: TaskOwner, member: string): Promise<KeptTask | undefined> => {
    const sealed = await records.get(taskKey(owner, member));
    return sealed === undefined ? undefined : readKept(sealing.open(boundTo(owner, "record"), sealed));
  };
  return {
    seal: (owner, name) => sealing.seal(boundTo(owner, "id"), writeName(name), limits.taskAgeMsMax),
    open: (owner, handle) => readName(sealing.open(boundTo(owner, "id"), handle)),
    hasRoom: async (owner) => (await records.members(setKey(owner))).length < limits.tasksPerPrincipalMax,
    keep: async (owner, task) => {
      const lifeMs = task.expiresAt - now();
      if (lifeMs <= 0) return;
      const member = memberOf(task.name);
      await records.set(
        taskKey(owner, member),
        sealing.seal(boundTo(owner, "record"), writeKept(task), lifeMs),
        lifeMs,
      );
      await records.addMember(setKey(owner), member, lifeMs);
    },
    find: (owner, name) => read(owner, memberOf(name)),
    forget: async (owner, name) => {
      await records.delete(taskKey(owner, memberOf(name)));
      await records.removeMember(setKey(owner), memberOf(name));
    },
    all: async (owner) => {
      const members = await records.members(setKey(owner));
      const found = await Promise.all(members.map((member) => read(owner, member)));
      return found.filter((task) => task !== undefined).sort((one, other) => one.keptAt - other.keptAt);
    },
  };
}

function setKey({ tenant, server, principalKey }: TaskOwner): RecordKey {
  return ["task-set", tenant, server, principalKey];
}

function taskKey({ tenant, server, principalKey }: TaskOwner, member: string): RecordKey {
  return ["task", tenant, server, principalKey, member];
}

/** Upstream and tool stand inside: they are what an id tells, so they cannot be known before it is opened. */
function boundTo({ tenant, server, principalKey }: TaskOwner, item: "id" | "record"): Bound {
  return { purpose: "task", tenant, server, principalKey, upstream: "", item, args: "" };
}

function writeName({ era, upstream, tool, id }: TaskName): string {
  return writeJson([era, upstream, tool, id]);
}

function readName(opened: Opened): { readonly name: TaskName } | { readonly because: string } {
  if (!opened.ok) return { because: opened.reason };
  const value = parseJsonText(opened.text);
  return { name: nameFrom(value.ok && Array.isArray(value.value) ? value.value : []) };
}

/** Authentic, so our own writing. */
function nameFrom([era, upstream, tool, id]: readonly unknown[]): TaskName {
  const isEra = era === "legacy" || era === "modern";
  if (!isEra || typeof upstream !== "string" || typeof tool !== "string" || typeof id !== "string")
    throw new Error("a task id of ours cannot be read");
  return { era, upstream, tool, id };
}

/** The state's id is the handle, and stands once. */
function writeKept({ name, handle, args, state, asked, keptAt, expiresAt }: KeptTask): string {
  const { era, upstream, tool, id } = name;
  const kept: JsonObject = { name: [era, upstream, tool, id], handle, state: keptState(state), keptAt, expiresAt };
  if (args !== undefined) kept["args"] = args;
  if (asked !== undefined) kept["asked"] = writeAskedKinds(asked);
  return writeJson(kept);
}

/** A record that does not open is one of another key or another owner: it is none. */
function readKept(opened: Opened): KeptTask | undefined {
  if (!opened.ok) return undefined;
  const parsed = parseJsonText(opened.text);
  const value = parsed.ok ? parsed.value : null;
  const [name, args, state] = ["name", "args", "state"].map((member) => readOwn(value, member));
  const handle = readOwnString(value, "handle");
  const [keptAt, expiresAt] = ["keptAt", "expiresAt"].map((member) => readOwn(value, member));
  if (!Array.isArray(name) || !isJsonObject(state) || handle === undefined) return undefined;
  if (typeof keptAt !== "number" || typeof expiresAt !== "number") return undefined;
  return {
    name: nameFrom(name),
    handle,
    args: isJsonObject(args) ? args : undefined,
    state: { taskId: handle, ...state },
    asked: readAskedKinds(readOwn(value, "asked")),
    keptAt,
    expiresAt,
  };
}
