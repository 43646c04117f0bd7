import type { AuditDraft, Evidence } from "./audit/port.ts";
import type { Catalog } from "./catalog/catalog.ts";
import type { ClientStreams } from "./gateway/streams/client-streams.ts";
import { readAccessChange, type AccessChange } from "./gateway/crossing-subject.ts";
import type { Courier } from "./model/courier.ts";
import { readPrincipalKey, type Principal } from "./model/principal.ts";
import type { Sessions } from "./session/sessions.ts";
import type { Log } from "./telemetry/log.ts";

/**
 * Hears that somebody was put on the deny list by command, and ends what this replica holds of them: streams at once,
 * then every session with its sessions at upstreams. A replica that misses it finds out with the next look at a stream
 * (`streamCommentMs`) or the next request. Each that hears it, or that somebody is let in again, leaves an event.
 */
export function hearOffboarding(of: {
  readonly courier: Pick<Courier, "receive">;
  readonly sessions: Pick<Sessions, "principalsOf">;
  readonly clientStreams: Pick<ClientStreams, "subjectDenied">;
  readonly catalog: Pick<Catalog, "personal">;
  /** Ends what one principal has; see `sessionsOfDenied`. */
  readonly end: (principal: Principal) => void;
  readonly evidence: Pick<Evidence, "record">;
  readonly log: Pick<Log, "info" | "error">;
}): void {
  const endAll = async ({ who, ref }: AccessChange): Promise<void> => {
    of.clientStreams.subjectDenied(who);
    of.catalog.personal.forget(who);
    const keys = await of.sessions.principalsOf(who);
    const principals = keys.ok ? keys.value.map(principalFrom).filter((found) => found !== undefined) : [];
    of.log.info("subject.denied", { ref, tenant: who.tenant, issuer: who.issuer, principals: principals.length });
    for (const principal of principals) of.end(principal);
  };
  of.courier.receive("offboarding", (text) => {
    const change = readAccessChange(text);
    if (change === undefined) return;
    of.evidence.record(eventOf(change));
    if (change.did === "admitted") return;
    void endAll(change).catch((error: unknown) => {
      of.log.error("subject.denial-failed", {}, error);
    });
  });
}

function eventOf({ who: { tenant, issuer, subject }, did, ref }: AccessChange): AuditDraft {
  return { type: "administration", ref, tenant, access: { did, issuer, subject } };
}

/** As much of a principal as its key tells: who it is, and nothing that it may do. */
function principalFrom(key: string): Principal | undefined {
  const identity = readPrincipalKey(key);
  if (identity === undefined) return undefined;
  return { ...identity, issuerAlias: "", groups: [], scopes: [], claims: {}, expiresAt: 0, key };
}
