import { createHash } from "node:crypto";
import type { Courier } from "../../model/courier.ts";
import type { Limits } from "../../model/limits.ts";
import type { RecordWrites } from "../../model/records.ts";
import { createCheckers, type Checkers } from "../../schema/checker.ts";
import { createWaiting, type Waiting } from "./waiting.ts";

/** What it takes to ask clients something on behalf of upstreams. */
export interface Asking {
  readonly waiting: Waiting;
  /** Validators of forms, apart from those of tools: an upstream makes as many forms as it likes. */
  readonly forms: Checkers;
  /**
   * Notes that a sealed request state was used. False when it was used before; of two that come at once, one is first.
   * Rejects with `StoreUnavailable`.
   */
  spend(state: { readonly tenant: string; readonly handle: string; readonly expiresAt: number }): Promise<boolean>;
  /** An `elicitationId` for a client whose revision requires what the upstream's does not have. */
  newId(): string;
}

export interface AskingOptions {
  readonly records: Pick<RecordWrites, "set" | "setIfAbsent" | "take" | "delete">;
  readonly courier: Courier;
  /** Cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<Limits, "askedWaitingMax" | "askedWaitingPerSessionMax" | "askedFormValidatorsMax">;
}

export function createAsking(options: AskingOptions): Asking {
  const { records, random, now, limits } = options;
  return {
    waiting: createWaiting(options),
    forms: createCheckers({ validatorsMax: limits.askedFormValidatorsMax }),
    spend: ({ tenant, handle, expiresAt }) => {
      const digest = createHash("sha256").update(handle).digest("hex");
      return records.setIfAbsent(["request-state", tenant, digest], "", Math.max(1, expiresAt - now()));
    },
    newId: () => Buffer.from(random(16)).toString("base64url"),
  };
}
