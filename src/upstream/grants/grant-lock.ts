import { setTimeout as pause } from "node:timers/promises";
import type { RecordKey } from "../../model/records.ts";
import { refuse } from "../../model/refusal.ts";
import type { Result } from "../../model/result.ts";
import { digestOfName, type GrantName } from "./grant-book.ts";
import type { GrantsOptions } from "./options.ts";

/**
 * Does `work` while nobody else, at any replica, uses or moves this grant's refresh token. Waits for that at most
 * `grantRefreshWaitMs`; what `instead` gives meanwhile makes the work needless. Refuses with
 * UPSTREAM_CREDENTIAL_UNAVAILABLE `refresh-busy` when the time is over.
 *
 * Not checked: that the work is done within `grantRefreshLockMs`, after which another may begin.
 */
export async function underLock<T>(
  { records, limits, jitter, random }: GrantsOptions,
  name: GrantName,
  {
    work,
    instead,
  }: { readonly work: () => Promise<Result<T>>; readonly instead?: () => Promise<Result<T> | undefined> },
): Promise<Result<T>> {
  const lock: RecordKey = ["grant-refresh", name.person.tenant, digestOfName(name)];
  const mine = Buffer.from(random(16)).toString("hex");
  const deadline = performance.now() + limits.grantRefreshWaitMs;
  for (
    let ms = limits.grantRefreshPollMsMin;
    performance.now() < deadline;
    ms = Math.min(2 * ms, limits.grantRefreshPollMsMax)
  ) {
    const needless = await instead?.();
    if (needless !== undefined) return needless;
    if (await records.setIfAbsent(lock, mine, limits.grantRefreshLockMs)) {
      try {
        return await work();
      } finally {
        // Only while it is still this one's: after its life another may hold it.
        if (await records.replace(lock, mine, "done", limits.grantRefreshLockMs)) await records.delete(lock);
      }
    }
    await pause(ms * (0.5 + jitter()));
  }
  return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { upstream: name.upstream, code: "refresh-busy" });
}
