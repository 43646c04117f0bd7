import type { ItemIdentity } from "../model/item.ts";
import type { Limits } from "../model/limits.ts";
import {
  headlessDigest,
  headlessId,
  headlessKey,
  headlessPrefix,
  readHeadless,
  writeHeadless,
} from "./headless-token.ts";
import type { HeadlessToken } from "./headless-token.ts";
import type { HeadlessRecords } from "./port.ts";

export interface HeadlessTokens {
  /** Makes a token and returns it, this once. Rejects when there are too many, or it is bound to nothing or too much. */
  create(wanted: WantedToken): Promise<{ readonly token: string; readonly id: string; readonly expiresAt: number }>;
  /** Those that can still be used, the oldest first. */
  list(): Promise<readonly ListedToken[]>;
  /** False when there is none of this id. Holds from the next request on, at every replica. */
  revoke(id: string): Promise<boolean>;
}

export interface WantedToken {
  readonly subject: string;
  readonly resource: string;
  readonly items: readonly ItemIdentity[];
  readonly scopes: readonly string[];
  readonly lifeMs: number;
}

export interface ListedToken extends HeadlessToken {
  readonly id: string;
}

export interface HeadlessTokensOptions {
  readonly records: HeadlessRecords;
  readonly tenant: string;
  readonly now: () => number;
  readonly randomBytes: (bytes: number) => Buffer;
  readonly limits: Pick<Limits, "headlessTokensMax" | "headlessTokenItemsMax" | "headlessTokenMsMax">;
}

/**
 * Bearer tokens that the gateway itself gives to services whose clients can send nothing better. A token names one
 * service, one server and its items, ends by itself, is never renewed, and is kept as a hash alone.
 * Every operation rejects with `StoreUnavailable` when the store does.
 */
export function createHeadlessTokens({
  records,
  tenant,
  now,
  randomBytes,
  limits,
}: HeadlessTokensOptions): HeadlessTokens {
  const set = ["headless-tokens", tenant] as const;

  const create: HeadlessTokens["create"] = async ({ lifeMs, ...wanted }) => {
    const { length } = wanted.items;
    if (length === 0 || length > limits.headlessTokenItemsMax) throw new Error(`a token for ${length} items`);
    if (lifeMs <= 0 || lifeMs > limits.headlessTokenMsMax) throw new Error("a token must end, and within its bound");
    const token = `${headlessPrefix}${randomBytes(32).toString("base64url")}`;
    const digest = headlessDigest(token);
    const createdAt = now();
    if ((await records.addMember(set, digest, lifeMs)) > limits.headlessTokensMax) {
      await records.removeMember(set, digest);
      throw new Error(`there are ${limits.headlessTokensMax} tokens: revoke some first`);
    }
    const expiresAt = createdAt + lifeMs;
    await records.set(headlessKey(tenant, digest), writeHeadless({ ...wanted, createdAt, expiresAt }), lifeMs);
    return { token, id: headlessId(digest), expiresAt };
  };

  const list: HeadlessTokens["list"] = async () => {
    const found: ListedToken[] = [];
    for (const digest of await records.members(set)) {
      const text = await records.get(headlessKey(tenant, digest));
      const token = text === undefined ? undefined : readHeadless(text);
      if (token !== undefined) found.push({ ...token, id: headlessId(digest) });
    }
    return found.sort((one, other) => one.createdAt - other.createdAt);
  };

  const revoke: HeadlessTokens["revoke"] = async (id) => {
    const digest = (await records.members(set)).find((one) => headlessId(one) === id);
    if (digest === undefined) return false;
    // The record first: without it the token is dead, whatever becomes of the set.
    const wasThere = await records.delete(headlessKey(tenant, digest));
    await records.removeMember(set, digest);
    return wasThere;
  };

  return { create, list, revoke };
}
