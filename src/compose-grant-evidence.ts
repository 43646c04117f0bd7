import { randomBytes } from "node:crypto";
import type { AuditDraft, Evidence } from "./audit/port.ts";
import { createRef } from "./audit/ref.ts";
import { readGrantChange } from "./gateway/crossing-grant.ts";
import type { Courier } from "./model/courier.ts";
import type { GrantChange, GrantWitness } from "./upstream/grants/port.ts";

/** Leaves what becomes of grants, and of the servers that give them, in the evidence. */
export function witnessIn(evidence: Pick<Evidence, "record">): GrantWitness {
  const newRef = createRef(randomBytes);
  return {
    changed: (change) => {
      evidence.record(eventOf(change, newRef()));
    },
    quarantined: ({ upstream, known, found }) => {
      const quarantine = { upstream, known, found: found.map(shown) };
      evidence.record({ type: "administration", ref: newRef(), tenant: "", quarantine });
    },
  };
}

/** Hears what a command did to grants, and leaves the same events under the reference that the command printed. */
export function hearGrantChanges(of: {
  readonly courier: Pick<Courier, "receive">;
  readonly evidence: Pick<Evidence, "record">;
}): void {
  of.courier.receive("grant", (text) => {
    const told = readGrantChange(text);
    if (told !== undefined) of.evidence.record(eventOf(told.change, told.ref));
  });
}

/** For commands, which have no chain of evidence and tell the replicas of what they did. */
export const noWitness: GrantWitness = { changed: () => undefined, quarantined: () => undefined };

function eventOf(change: GrantChange, ref: string): AuditDraft {
  const { did, person, upstream, issuer: server, scopes, clientId, reason } = change;
  const { tenant, issuer, subject } = person;
  const more = { ...(clientId === "" ? {} : { clientId }), ...(reason === undefined ? {} : { reason }) };
  return { type: "credential", ref, tenant, grant: { did, issuer, subject, upstream, server, scopes, ...more } };
}

const shownCharsMax = 200;

/** An upstream wrote it: without what a URL may carry besides a place, and nothing of what is no URL. */
function shown(issuer: string): string {
  if (!URL.canParse(issuer)) return "no URL";
  const { protocol, host, pathname } = new URL(issuer);
  return `${protocol}//${host}${pathname}`.slice(0, shownCharsMax);
}
