import { randomBytes } from "node:crypto";
import { afterEach } from "vitest";
import { limits, type Limits } from "../../../src/model/limits.ts";
import type { Result } from "../../../src/model/result.ts";
import { createMemoryStore } from "../../../src/store/memory.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Caller } from "../../../src/upstream/grants/grant-tokens.ts";
import type { GrantsOptions, GrantUpstreamOptions } from "../../../src/upstream/grants/options.ts";
import type { GrantChange, Person, Quarantine, Sealer } from "../../../src/upstream/grants/port.ts";
import { createGrants, type Grants } from "../../../src/upstream/grants/user-grants.ts";
import { makeKey, sealerWith, upstreamAt } from "./making.ts";
import { startProvider, type Provider, type ProviderWays } from "./provider.ts";

export const redirectUri = "https://gateway.test/connect/granted";
export const ada: Person = { tenant: "default", issuer: "https://idp.test", subject: "ada" };
export const bob: Person = { ...ada, subject: "bob" };
export const editor = "editor";
export const asAda: Caller = { person: ada, clientId: editor };

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

export function closeAfter(close: () => Promise<void>): void {
  closing.unshift(close);
}

export async function provider(ways: ProviderWays = {}, path?: string): Promise<Provider> {
  const started = await startProvider(ways, path);
  closeAfter(() => started.close());
  return started;
}

export interface Bench {
  readonly grants: Grants;
  readonly store: Store;
  readonly clock: { now: number };
  readonly logged: { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
  /** What the evidence was told, in order. */
  readonly witnessed: (GrantChange | Quarantine)[];
  readonly options: GrantsOptions;
}

export interface BenchOptions {
  readonly upstream?: Partial<GrantUpstreamOptions>;
  readonly store?: Store;
  readonly sealer?: Sealer;
  readonly clock?: { now: number };
  readonly limits?: Partial<Limits>;
  readonly clientDocumentUrl?: string;
  readonly more?: Partial<GrantsOptions>;
}

const oneSealer = sealerWith(makeKey("one"));

/** Grants at one upstream called `up`. */
export function benchFor(url: string, given: BenchOptions = {}): Bench {
  const clock = given.clock ?? { now: 1_800_000_000_000 };
  const store = given.store ?? createMemoryStore({ now: () => clock.now });
  const logged: Bench["logged"] = [];
  const witnessed: Bench["witnessed"] = [];
  const options: GrantsOptions = {
    upstreams: { up: upstreamAt(url, given.upstream) },
    issuersElsewhere: {},
    records: store,
    sealer: given.sealer ?? oneSealer,
    clientName: "Sallyport",
    clientDocumentUrl: given.clientDocumentUrl,
    now: () => clock.now,
    random: randomBytes,
    jitter: () => 0,
    limits: { ...limits, ...given.limits },
    log: (event, facts) => {
      logged.push({ event, facts });
    },
    witness: {
      changed: (change) => {
        witnessed.push(change);
      },
      quarantined: (quarantine) => {
        witnessed.push(quarantine);
      },
    },
    ...given.more,
  };
  return { grants: createGrants(options), store, clock, logged, witnessed, options };
}

/** What a test compares: the value, or code and reason of the refusal. */
export function outcome<T>(result: Result<T>): T | string {
  if (result.ok) return result.value;
  const { code, facts } = result.refusal;
  const why = facts["reason"] ?? facts["fault"];
  return typeof why === "string" ? `${code} ${why}` : code;
}

export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify([result.refusal.code, result.refusal.facts])}`);
  return result.value;
}

/** Opens the authorization URL as a person's browser does, and brings back what the redirect carries. */
export async function approve(url: string): Promise<URLSearchParams> {
  const response = await fetch(url, { redirect: "manual" });
  const location = response.headers.get("location");
  if (location === null) throw new Error(`the authorization endpoint answered ${response.status}`);
  return new URL(location).searchParams;
}

/** The whole way: begin, the person agrees, finish. */
export async function connect(
  { grants }: Pick<Bench, "grants">,
  { person, clientId }: Caller = asAda,
): Promise<Result<{ readonly upstream: string }>> {
  const begun = await grants.pages.begin({ person, clientId, upstream: "up", redirectUri });
  if (!begun.ok) return begun;
  const params = await approve(begun.value.url);
  return grants.pages.finish({ person, attempt: begun.value.attempt, params });
}

/** The access token, or what the refusal says. */
export async function tokenOf(bench: Pick<Bench, "grants">, caller: Caller = asAda): Promise<string> {
  const token = outcome(await bench.grants.tokens.tokenFor("up", caller));
  return typeof token === "string" ? token : token.accessToken;
}
