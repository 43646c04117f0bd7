import { randomBytes } from "node:crypto";
import { deniedSubjectKey } from "./auth/deny-list.ts";
import { hasEnded } from "./authserver/ended-sign-ins.ts";
import { reservedSubjects } from "./authserver/reserved-subjects.ts";
import { personClaims, principalOf } from "./auth/principal-of.ts";
import type { TrustedIssuer } from "./auth/trusted-issuer.ts";
import { issuerFetch } from "./compose-auth-server.ts";
import { keyFrom } from "./compose-keeping.ts";
import { openRelyingParty } from "./compose-provider.ts";
import { openReach } from "./compose-reach.ts";
import { openSealer } from "./compose-sealer.ts";
import type { SignIn } from "./compose-sign-in.ts";
import type { BrowserConfig } from "./config/types-auth.ts";
import type { BuiltInConfig, BuiltInProvider } from "./config/types-built-in.ts";
import type { Config } from "./config/types.ts";
import { createConnect, type Connect } from "./connect/create.ts";
import { paths } from "./connect/paths.ts";
import type { ProviderWay, Says, SignedIn, SignInWay, UserGrants } from "./connect/port.ts";
import type { Gateway } from "./gateway/gateway.ts";
import { wireRules } from "./gateway/wire-rules.ts";
import { refuse } from "./model/refusal.ts";
import { ok, type Result } from "./model/result.ts";
import type { RelyingParty, SignedIn as SignedInThere } from "./signin/relying-party.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";

export interface ConnectParts {
  readonly config: Config;
  readonly signIn: SignIn;
  readonly store: Store;
  readonly log: Log;
  readonly gateway: Pick<Gateway, "catalog" | "inForce" | "strangers" | "logRefusal">;
  /** Absent where no upstream is reached by grants of users. */
  readonly grants: UserGrants | undefined;
}

/** The pages at `/connect`; undefined where nobody could sign in on them. */
export function openConnect(parts: ConnectParts): Connect | undefined {
  const { config, signIn, store, log } = parts;
  const ways = waysOf(config, signIn);
  if (ways.length === 0) return undefined;
  return createConnect({
    publicUrl: config.publicUrl,
    ways,
    grants: parts.grants,
    reach: openReach(parts),
    // A client that is named by its URL has said there who it is; what is known by another name was registered here.
    clientName: async (clientId) => (URL.canParse(clientId) ? undefined : signIn.pages?.clientName(clientId)),
    isDenied: async (person) => (await store.get(deniedSubjectKey(person))) !== undefined,
    hasEnded: (person, since) => hasEnded(store, person, since),
    says: saysOf(parts.gateway),
    records: store,
    sealer: openSealer("connect", config),
    formKeys: [config.keys.session, ...config.keys.sessionPrevious].map((key) => keyFrom("connect forms", key).key),
    now: Date.now,
    random: randomBytes,
    log: (event, facts) => {
      log.info("connect.noted", { what: event, ...facts });
    },
  });
}

/** The same table that answers clients; facts go to the log. */
function saysOf({ strangers, logRefusal }: ConnectParts["gateway"]): Says {
  return ({ code, facts, cause }, address) => {
    const ref = strangers.note(code, address);
    logRefusal({ ref, code, ...facts }, cause);
    const { status, text } = wireRules[code];
    return { status: status === 200 ? 502 : status, text, ref };
  };
}

function waysOf(config: Config, signIn: SignIn): readonly SignInWay[] {
  const { auth } = config;
  if (auth.kind === "none") return [];
  const own = auth.builtIn === undefined ? undefined : builtInWay(config, auth.builtIn, signIn);
  const elsewhere = auth.browser === undefined ? undefined : browserWay(config, auth.browser, signIn);
  return [own, elsewhere].filter((way) => way !== undefined);
}

function builtInWay(config: Config, builtIn: BuiltInConfig, signIn: SignIn): SignInWay | undefined {
  const { publicUrl: issuer } = config;
  const { alias: id, provider } = builtIn;
  if (provider !== undefined) return brokeredWay(config, builtIn, provider);
  const server = signIn.pages;
  if (server === undefined || builtIn.users.length === 0) return undefined;
  return {
    kind: "password",
    id,
    issuer,
    label: id,
    check: async (attempt) => {
      const answer = await server.signIn(attempt);
      if (answer.kind !== "signed-in") return answer;
      const { subject, name, groups } = answer.user;
      return { kind: "signed-in", who: ownPerson({ issuer, alias: id, subject, name, groups }) };
    },
  };
}

/**
 * People of the built-in server, who sign in at the company's provider: with the names that the server itself would let
 * them in with, and no others.
 */
function brokeredWay(config: Config, builtIn: BuiltInConfig, provider: BuiltInProvider): ProviderWay {
  const { publicUrl: issuer } = config;
  const { alias: id } = builtIn;
  const isReserved = reservedSubjects({ ...builtIn, publicUrl: issuer });
  const party = openRelyingParty(provider, config, issuerFetch(config, provider.addresses));
  const label = new URL(provider.issuer).host;
  return providerWay(config, { id, issuer, label, party }, ({ subject, name, groups }) =>
    isReserved(subject)
      ? refuse("SIGNIN_ANSWER_INVALID", { reason: "subject-reserved" })
      : ok(ownPerson({ issuer, alias: id, subject, name, groups })),
  );
}

/** The built-in server knows one tenant, as its tokens do. */
function ownPerson(of: {
  readonly issuer: string;
  readonly alias: string;
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
}): SignedIn {
  const person = { tenant: "default", issuer: of.issuer, subject: of.subject };
  return { person, name: of.name, groups: of.groups.map((group) => `${of.alias}:${group}`) };
}

/** People of an external issuer. Its ID token is read as its access tokens are, so that a person is the same in both. */
function browserWay(config: Config, browser: BrowserConfig, signIn: SignIn): ProviderWay | undefined {
  const trusted = signIn.trusted(browser.issuer);
  if (trusted?.fetch === undefined) return undefined;
  const { issuer } = trusted;
  const { subject: subjectFrom, groups: groupsClaim } = personClaims(trusted);
  const party = openRelyingParty({ ...browser, issuer, groupsClaim, subjectFrom }, config, trusted.fetch);
  const way = { id: browser.issuer, issuer, label: new URL(issuer).host, party };
  return providerWay(config, way, (there) => personAt(config, trusted, there));
}

function personAt(config: Config, trusted: TrustedIssuer, { claims, name }: SignedInThere): Result<SignedIn> {
  const { identityCharsMax } = config.limits;
  const principal = principalOf(claims, trusted, { expiresAt: 0, identityCharsMax, resource: "" });
  if (!principal.ok) return principal;
  const { tenant, issuer, subject, groups } = principal.value;
  return ok({ person: { tenant, issuer, subject }, name, groups });
}

function providerWay(
  { publicUrl }: Config,
  way: { readonly id: string; readonly issuer: string; readonly label: string; readonly party: RelyingParty },
  personOf: (there: SignedInThere) => Result<SignedIn>,
): ProviderWay {
  const { id, issuer, label, party } = way;
  const redirectUri = `${publicUrl}${paths.callback}`;
  return {
    kind: "provider",
    id,
    issuer,
    label,
    begin: (state) => party.begin({ redirectUri, state }),
    finish: async (attempt) => {
      const finished = await party.finish({ ...attempt, redirectUri });
      return finished.ok ? personOf(finished.value) : finished;
    },
  };
}
