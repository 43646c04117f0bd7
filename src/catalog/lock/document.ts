import type { JsonObject } from "../../model/json.ts";

/** What the lock pins. Concrete resources are not pinned: they are content, and come and go with it. */
export const lockedKinds = ["tool", "prompt", "template"] as const;

export type LockedKind = (typeof lockedKinds)[number];

export function isLockedKind(kind: string): kind is LockedKind {
  return lockedKinds.some((locked) => locked === kind);
}

/** The sections of the file, by kind. */
export const sections: Readonly<Record<LockedKind, "tools" | "prompts" | "templates">> = {
  tool: "tools",
  prompt: "prompts",
  template: "templates",
};

/** Which member of a definition is the item's own name. */
export const nameKeys: Readonly<Record<LockedKind, "name" | "uriTemplate">> = {
  tool: "name",
  prompt: "name",
  template: "uriTemplate",
};

/** The catalog lock: definitions that somebody approved, by upstream, kind and the upstream's own name. */
export interface LockDocument {
  readonly upstreams: ReadonlyMap<string, LockedUpstream>;
}

export interface LockedUpstream {
  readonly identity: LockIdentity;
  /** Of every item that says nothing itself. */
  readonly perUser: PerUser;
  readonly instructions: readonly InstructionsApproval[];
  readonly items: ByKind<LockedItem>;
  /** Items that the upstream no longer lists: nothing of them is approved any more. */
  readonly removed: ByKind<Tombstone>;
}

export type ByKind<T> = Readonly<Record<LockedKind, ReadonlyMap<string, T>>>;

/**
 * Whose definitions were approved. Not what the server says of itself (`serverInfo`), which any other can say too:
 * where it is dialled, and who vouches for the gateway there.
 */
export interface LockIdentity {
  /** Without userinfo, query and fragment, which may hold secrets. */
  readonly url: string;
  /** The issuer of the credential, or its type where it has none. */
  readonly authorization: string;
}

/** `shape`: texts, enumerations and defaults may differ from one person to another, the structure may not. */
export type PerUser = "exact" | "shape";

export interface LockedItem {
  /** Undefined: as the upstream's. */
  readonly perUser: PerUser | undefined;
  /** The newest last; several during a roll-out. */
  readonly approved: readonly Approval[];
}

/** Who approved, when and why. */
export interface Signature {
  readonly by: string;
  readonly reason: string;
  /** ISO 8601 in UTC, to the second. */
  readonly at: string;
}

export interface Approval extends Signature {
  /** `sha256:` and SHA-256 (hex) over RFC 8785 of `definition`. */
  readonly digest: string;
  /** Whole, as the upstream sent it. */
  readonly definition: JsonObject;
}

export interface InstructionsApproval extends Signature {
  readonly digest: string;
  /** As the upstream sent it, cut to `instructionsCharsMax`: what is beyond reaches nobody. */
  readonly text: string;
}

export interface Tombstone {
  readonly at: string;
  /** What was approved last. */
  readonly digests: readonly string[];
}

export const emptyDocument: LockDocument = { upstreams: new Map() };

export function emptyUpstream(identity: LockIdentity): LockedUpstream {
  return {
    identity,
    perUser: "exact",
    instructions: [],
    items: byKind(() => new Map()),
    removed: byKind(() => new Map()),
  };
}

export function byKind<T>(of: (kind: LockedKind) => ReadonlyMap<string, T>): ByKind<T> {
  return { tool: of("tool"), prompt: of("prompt"), template: of("template") };
}
