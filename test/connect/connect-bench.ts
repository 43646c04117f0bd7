import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createConnect } from "../../src/connect/create.ts";
import { createConnectLinks } from "../../src/connect/links.ts";
import type { ConnectLinks } from "../../src/connect/links.ts";
import type { ConnectOptions } from "../../src/connect/options.ts";
import type { GrantDescription, Person, Sealer, SignedIn, UserGrants } from "../../src/connect/port.ts";
import { createAead } from "../../src/gateway/aead.ts";
import { wireRules } from "../../src/gateway/wire-rules.ts";
import { refuse } from "../../src/model/refusal.ts";
import type { Refusal } from "../../src/model/refusal.ts";
import { ok } from "../../src/model/result.ts";
import { createMemoryRecords } from "../authserver/memory-records.ts";
import type { MemoryRecords } from "../authserver/memory-records.ts";

export const people: Readonly<Record<string, SignedIn>> = {
  ada: personNamed("ada", "Ada <i>L</i>", ["local:support"]),
  bob: personNamed("bob", "Bob", []),
};

function personNamed(subject: string, name: string, groups: readonly string[]): SignedIn {
  return { person: { tenant: "default", issuer: "https://issuer.example", subject }, name, groups };
}

/** A grant book in memory, with an authorization server that exists as a URL alone. */
export interface GrantsInMemory extends UserGrants {
  readonly grants: Map<string, GrantDescription>;
  readonly calls: { readonly name: string; readonly about: unknown }[];
  fault: Refusal | undefined;
}

export interface Bench {
  readonly origin: string;
  readonly links: ConnectLinks;
  readonly grants: GrantsInMemory;
  readonly records: MemoryRecords;
  readonly refusals: Refusal[];
  readonly events: string[];
  readonly denied: Set<string>;
  /** By subject, when everything of theirs so far was ended. */
  readonly ended: Map<string, number>;
  now(): number;
  advance(ms: number): void;
  close(): Promise<void>;
}

export const providerUrl = "https://login.corp.example/authorize";
export const upstreamIssuer = "https://as.tickets.example";

export async function startBench(changes: Partial<ConnectOptions> = {}): Promise<Bench> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
  const publicUrl = changes.publicUrl ?? origin;
  let offsetMs = 0;
  const now = (): number => Date.now() + offsetMs;
  const records = createMemoryRecords(now);
  const sealer = testSealer();
  const grants = grantsInMemory();
  const [refusals, events, denied]: [Refusal[], string[], Set<string>] = [[], [], new Set()];
  const ended: Bench["ended"] = new Map();
  const connect = createConnect({
    publicUrl,
    ways: [passwordWay, providerWay],
    grants,
    reach: () =>
      Promise.resolve({
        servers: [{ name: "support", title: "Support", url: `${publicUrl}/support/mcp` }],
        upstreams: new Set(["tickets"]),
      }),
    clientName: (clientId) => Promise.resolve(clientId === "desktop" ? "Desk & Top" : undefined),
    isDenied: ({ subject }) => Promise.resolve(denied.has(subject)),
    hasEnded: ({ subject }, since) => Promise.resolve(since <= (ended.get(subject) ?? -1)),
    says: (refusal) => {
      refusals.push(refusal);
      const { status, text } = wireRules[refusal.code];
      return { status: status === 200 ? 502 : status, text, ref: "REF-1" };
    },
    records,
    sealer,
    formKeys: [randomBytes(32)],
    now,
    random: randomBytes,
    log: (event) => events.push(event),
    ...changes,
  });
  http.on("request", (req, res) => void connect.handle(req, res));
  return {
    origin,
    links: createConnectLinks({ publicUrl, sealer, now }),
    grants,
    records,
    refusals,
    events,
    denied,
    ended,
    now,
    advance: (ms) => {
      offsetMs += ms;
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => {
          resolve();
        });
        http.closeAllConnections();
      }),
  };
}

function testSealer(): Sealer {
  const key = { kid: "k1", key: randomBytes(32) };
  const aead = createAead({ current: key, previous: [] }, randomBytes);
  const none = new Uint8Array();
  return {
    seal: (associated, text) => aead.encrypt(associated, none, text),
    open: (associated, sealed) => {
      const opened = aead.decrypt(associated, 0, sealed);
      return opened.ok ? opened.text : undefined;
    },
  };
}

const passwordWay: ConnectOptions["ways"][number] = {
  kind: "password",
  id: "local",
  issuer: "https://issuer.example",
  label: "local",
  check: ({ username, password }) => {
    if (password === "limited" || password === "busy") return Promise.resolve({ kind: password });
    const who = people[username];
    return Promise.resolve(who === undefined || password !== "right" ? { kind: "wrong" } : { kind: "signed-in", who });
  },
};

/** Its `code` names who signed in; `state` and what was kept must come back. */
const providerWay: ConnectOptions["ways"][number] = {
  kind: "provider",
  id: "corp",
  issuer: "https://login.corp.example",
  label: "login.corp.example",
  begin: (state) => Promise.resolve(ok({ url: `${providerUrl}?state=${state}`, kept: `nonce.${state}` })),
  finish: ({ state, kept, parameters }) => {
    const who = people[parameters.get("code") ?? ""];
    const holds = parameters.get("state") === state && kept === `nonce.${state}`;
    return Promise.resolve(holds && who !== undefined ? ok(who) : refuse("SIGNIN_ANSWER_INVALID", {}));
  },
};

function grantsInMemory(): GrantsInMemory {
  const grants = new Map<string, GrantDescription>();
  const calls: { name: string; about: unknown }[] = [];
  const none: GrantDescription = { connected: false, scopes: ["tickets:read"], clients: [], issuer: upstreamIssuer };
  const keyOf = (person: Person, upstream: string): string => `${person.subject} ${upstream}`;
  const book: GrantsInMemory = {
    grants,
    calls,
    fault: undefined,
    upstreams: () => [
      { name: "tickets", title: "Tickets" },
      { name: "crm", title: "CRM" },
    ],
    describe: (person, upstream) =>
      Promise.resolve(
        book.fault === undefined ? ok(grants.get(keyOf(person, upstream)) ?? none) : { ok: false, refusal: book.fault },
      ),
    begin: (request) => {
      calls.push({ name: "begin", about: request });
      const state = `s${String(calls.filter(({ name }) => name === "begin").length)}`;
      const attempt = JSON.stringify({ ...request, state });
      return Promise.resolve(ok({ url: `${upstreamIssuer}/authorize?state=${state}`, attempt, state }));
    },
    finish: ({ person, attempt, params }) => {
      const begun = JSON.parse(attempt) as { person: Person; upstream: string; clientId: string; state: string };
      if (params.get("state") !== begun.state)
        return Promise.resolve(refuse("UPSTREAM_CONNECTION_REFUSED", { reason: "attempt-not-yours" }));
      calls.push({ name: "finish", about: { person, code: params.get("code") } });
      const clients = begun.clientId === "" ? [] : [begun.clientId];
      grants.set(keyOf(person, begun.upstream), { ...none, connected: true, since: 0, clients });
      return Promise.resolve(ok({ upstream: begun.upstream }));
    },
    consent: (person, clientId, upstream) => {
      calls.push({ name: "consent", about: { subject: person.subject, clientId, upstream } });
      return Promise.resolve(ok(undefined));
    },
    revoke: (person, upstream) => {
      calls.push({ name: "revoke", about: { subject: person.subject, upstream } });
      return Promise.resolve(ok({ revokedAtProvider: grants.delete(keyOf(person, upstream)) }));
    },
  };
  return book;
}
