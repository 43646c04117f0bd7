import type { Evidence } from "./audit/port.ts";
import { readTokenChange } from "./gateway/crossing-token.ts";
import type { Courier } from "./model/courier.ts";

/** Hears that a command has made or revoked a headless token, and leaves an event of it. */
export function hearTokenChanges(of: {
  readonly courier: Pick<Courier, "receive">;
  readonly evidence: Pick<Evidence, "record">;
}): void {
  of.courier.receive("token", (text) => {
    const change = readTokenChange(text);
    if (change === undefined) return;
    const { ref, tenant, did, id, service } = change;
    of.evidence.record({ type: "administration", ref, tenant, token: { did, id, service } });
  });
}
