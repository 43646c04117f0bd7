import { randomBytes } from "node:crypto";
import { recheckLockMs } from "./authserver/brokered-people.ts";
import type { ProviderFinished, ProviderPerson, ProviderSignIn } from "./authserver/port.ts";
import type { BuiltInProvider } from "./config/types-built-in.ts";
import type { Config } from "./config/types.ts";
import type { Refusal } from "./model/refusal.ts";
import type { GuardedFetch } from "./signin/port.ts";
import type { Person } from "./signin/person.ts";
import { createRelyingParty, recheckFetchesMax, type RelyingParty } from "./signin/relying-party.ts";

/** Who the gateway is at a provider, and what it reads of people there. */
export type ProviderClient = Omit<BuiltInProvider, "regrantSeconds" | "addresses">;

export function openRelyingParty(provider: ProviderClient, { limits }: Config, fetch: GuardedFetch): RelyingParty {
  return createRelyingParty({
    issuer: provider.issuer,
    clientId: provider.clientId,
    clientSecret: provider.clientSecret?.reveal(),
    scopes: provider.scopes,
    groupsClaim: provider.groupsClaim,
    subjectFrom: provider.subjectFrom,
    fetch,
    now: Date.now,
    random: randomBytes,
    limits,
  });
}

/** Joins the company's provider, of which the gateway is a relying party, to the built-in authorization server. */
export function openProvider(provider: BuiltInProvider, config: Config, fetch: GuardedFetch): ProviderSignIn {
  const party = openRelyingParty(provider, config, fetch);
  const asserts = Object.values(config.upstreams).some(({ credential }) => credential.type === "identityAssertion");
  // A token that nothing is asserted with is not kept.
  const kept = (idToken: string | undefined): string | undefined => (asserts ? idToken : undefined);
  return {
    begin: async (attempt) => {
      const begun = await party.begin(attempt);
      return begun.ok ? { ok: true, ...begun.value } : { ok: false, reason: begun.refusal.code };
    },
    finish: async (answer) => {
      const finished = await party.finish(answer);
      if (!finished.ok) return refused(finished.refusal);
      const { refreshToken: refresh, idToken } = finished.value;
      return { ok: true, person: personOf(finished.value, { refresh, idToken: kept(idToken) }) };
    },
    recheckLockMs: recheckLockMs(recheckFetchesMax, config.limits),
    recheck: async (refreshToken) => {
      const answer = await party.recheck(refreshToken);
      if (answer.kind === "unavailable") return { kind: "unavailable", refresh: answer.refreshToken };
      if (answer.kind !== "present") return { kind: answer.kind };
      const { refreshToken: refresh, idToken } = answer;
      return { kind: "there", person: personOf(answer.person, { refresh, idToken: kept(idToken) }) };
    },
  };
}

function personOf(
  { subject, name, groups, email }: Person,
  tokens: Pick<ProviderPerson, "refresh" | "idToken">,
): ProviderPerson {
  return { subject, name, groups, email, ...tokens };
}

function refused({ code, facts }: Refusal): ProviderFinished {
  if (code === "SIGNIN_PROVIDER_UNAVAILABLE") return { ok: false, reason: "unavailable" };
  if (code !== "SIGNIN_DECLINED") return { ok: false, reason: "refused" };
  const error = facts["error"];
  return { ok: false, reason: "declined", ...(typeof error === "string" ? { detail: error } : {}) };
}
