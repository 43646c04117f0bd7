import { isJsonObject, readOwn, readOwnString, type Json, type JsonObject } from "../../model/json.ts";
import { limits } from "../../model/limits.ts";
import {
  byKind,
  lockedKinds,
  nameKeys,
  sections,
  type Approval,
  type ByKind,
  type InstructionsApproval,
  type LockDocument,
  type LockedItem,
  type LockedKind,
  type LockedUpstream,
  type LockIdentity,
  type PerUser,
  type Signature,
  type Tombstone,
} from "./document.ts";
import { lockDigest } from "./lock-digest.ts";
import type { Place, StrictReading, TextForm } from "./strict-reading.ts";
import { approver, authorization, digestForm, httpUrl, moment, reason } from "./text-forms.ts";

/** The only form of the file that there is so far. */
export const lockVersion = 1;

/**
 * Reads a lock's JSON value strictly: every key is known, every digest is that of the definition beside it, every
 * definition bears the name that it stands under. What is wrong is noted in `reading`; what is right is returned.
 */
export function readDocument(value: Json, reading: StrictReading): LockDocument {
  const root = reading.map(value, [], { required: ["lockVersion", "upstreams"] });
  const version = readOwn(root, "lockVersion");
  if (version !== undefined && version !== lockVersion)
    reading.fault(["lockVersion"], String(version instanceof Object ? "another value" : version), String(lockVersion));
  return {
    upstreams: reading.named(readOwn(root, "upstreams"), ["upstreams"], (member, place) =>
      readUpstream(member, place, reading),
    ),
  };
}

const upstreamKeys = {
  required: ["identity"],
  optional: ["perUser", "instructions", ...Object.values(sections), "removed"],
};

function readUpstream(value: Json, place: Place, reading: StrictReading): LockedUpstream | undefined {
  const upstream = reading.map(value, place, upstreamKeys);
  if (upstream === undefined) return undefined;
  const items = readByKind(upstream, place, { reading, read: readItem });
  const removed = readRemoved(readOwn(upstream, "removed"), [...place, "removed"], reading);
  for (const kind of lockedKinds)
    for (const name of items[kind].keys())
      if (removed[kind].has(name))
        reading.fault(
          [...place, "removed", sections[kind], name],
          "an item that is approved as well",
          "one of the two",
        );
  return {
    identity: readIdentity(readOwn(upstream, "identity"), [...place, "identity"], reading),
    perUser: readPerUser(upstream, place, reading) ?? "exact",
    instructions: approvals(readOwn(upstream, "instructions"), [...place, "instructions"], {
      reading,
      read: readInstructions,
    }),
    items,
    removed,
  };
}

interface MemberReading<T> {
  readonly reading: StrictReading;
  readonly read: (value: Json, place: Place, of: Named) => T | undefined;
}

function readByKind<T>(parent: JsonObject, place: Place, { reading, read }: MemberReading<T>): ByKind<T> {
  return byKind((kind) => {
    const section = sections[kind];
    return reading.named(readOwn(parent, section), [...place, section], (member, at, name) =>
      read(member, at, { kind, name, reading }),
    );
  });
}

function readIdentity(value: Json | undefined, place: Place, reading: StrictReading): LockIdentity {
  const keys = { required: ["url", "authorization"] };
  const identity = value === undefined ? undefined : reading.map(value, place, keys);
  return {
    url: reading.text(readOwn(identity, "url"), [...place, "url"], httpUrl) ?? "",
    authorization: reading.text(readOwn(identity, "authorization"), [...place, "authorization"], authorization) ?? "",
  };
}

function readPerUser(parent: JsonObject, place: Place, reading: StrictReading): PerUser | undefined {
  const value = readOwn(parent, "perUser");
  if (value === undefined || value === "exact" || value === "shape") return value;
  reading.fault([...place, "perUser"], JSON.stringify(value), "exact or shape");
  return undefined;
}

function readItem(value: Json, place: Place, of: Named): LockedItem | undefined {
  const item = of.reading.map(value, place, { required: ["approved"], optional: ["perUser"] });
  if (item === undefined) return undefined;
  const at = [...place, "approved"];
  const listed = readOwn(item, "approved");
  if (Array.isArray(listed) && listed.length === 0) of.reading.fault(at, "an empty list", "one approval at least");
  const read = (approval: Json, where: Place): Approval | undefined => readApproval(approval, where, of);
  return {
    perUser: readPerUser(item, place, of.reading),
    approved: approvals(listed, at, { reading: of.reading, read }),
  };
}

interface Named {
  readonly kind: LockedKind;
  readonly name: string;
  readonly reading: StrictReading;
}

/** A list of approvals, none of them twice and not more than a roll-out needs. */
function approvals<T extends { readonly digest: string }>(
  value: Json | undefined,
  place: Place,
  {
    reading,
    read,
  }: { reading: StrictReading; read: (value: Json, place: Place, reading: StrictReading) => T | undefined },
): readonly T[] {
  const listed = reading.list(value, place, (one, at) => read(one, at, reading));
  const most = limits.catalogLockApprovalsMax;
  if (listed.length > most) reading.fault(place, `${listed.length} approvals`, `at most ${most}`);
  for (const [at, { digest }] of listed.entries())
    if (listed.findIndex((other) => other.digest === digest) < at)
      reading.fault([...place, at, "digest"], "a digest that is approved already", "each digest once");
  return listed;
}

const signatureKeys = ["digest", "by", "reason", "at"];

function readApproval(value: Json, place: Place, { kind, name, reading }: Named): Approval | undefined {
  const approval = reading.map(value, place, { required: [...signatureKeys, "definition"] });
  const signed = readSigned(approval, place, reading);
  const definition = readOwn(approval, "definition");
  if (definition === undefined || signed === undefined) return undefined;
  if (!isJsonObject(definition)) {
    reading.fault([...place, "definition"], "no map", "a definition");
    return undefined;
  }
  const key = nameKeys[kind];
  if (readOwnString(definition, key) !== name)
    reading.fault([...place, "definition", key], "another name than the item's", JSON.stringify(name));
  isDigestOf(signed.digest, definition, { place, reading });
  return { ...signed, definition };
}

function readInstructions(value: Json, place: Place, reading: StrictReading): InstructionsApproval | undefined {
  const approval = reading.map(value, place, { required: [...signatureKeys, "text"] });
  const signed = readSigned(approval, place, reading);
  const text = readOwn(approval, "text");
  if (text === undefined || signed === undefined) return undefined;
  if (typeof text !== "string") {
    reading.fault([...place, "text"], "no text", "instructions");
    return undefined;
  }
  isDigestOf(signed.digest, text, { place, reading });
  return { ...signed, text };
}

function readSigned(
  approval: JsonObject | undefined,
  place: Place,
  reading: StrictReading,
): (Signature & { digest: string }) | undefined {
  const read = (key: string, form: TextForm): string | undefined =>
    reading.text(readOwn(approval, key), [...place, key], form);
  const [digest, by, why, at] = [
    read("digest", digestForm),
    read("by", approver),
    read("reason", reason),
    read("at", moment),
  ];
  if (digest === undefined || by === undefined || why === undefined || at === undefined) return undefined;
  return { digest, by, reason: why, at };
}

/** A digest of something else would approve what no reviewer of the file has seen. */
function isDigestOf(digest: string, value: Json, { place, reading }: { place: Place; reading: StrictReading }): void {
  const own = lockDigest(value);
  if (own !== digest) reading.fault([...place, "digest"], digest, `${own}, the digest of what stands beside it`);
}

function readRemoved(value: Json | undefined, place: Place, reading: StrictReading): ByKind<Tombstone> {
  const removed =
    value === undefined ? undefined : reading.map(value, place, { required: [], optional: Object.values(sections) });
  return readByKind(removed ?? {}, place, { reading, read: readTombstone });
}

function readTombstone(value: Json, place: Place, { reading }: Named): Tombstone | undefined {
  const stone = reading.map(value, place, { required: ["at", "digests"] });
  const at = reading.text(readOwn(stone, "at"), [...place, "at"], moment);
  const where = [...place, "digests"];
  const digests = reading.list(readOwn(stone, "digests"), where, (one, here) => reading.text(one, here, digestForm));
  return at === undefined ? undefined : { at, digests };
}
