import { describe, expect, it } from "vitest";
import { limits, type Limits } from "../../../src/model/limits.ts";
import type { AssertionSigner } from "../../../src/upstream/credentials/assertion-keys.ts";
import { tokenExchange } from "../../../src/upstream/credentials/token-exchange.ts";
import { createGuardedFetch } from "../../../src/upstream/egress.ts";
import type { CredentialOptions } from "../../../src/upstream/options.ts";
import type { OnAccountOf } from "../../../src/upstream/port.ts";
import { changing, hasty } from "../watch-under-test.ts";
import { call, roomFor, scripted, summary, until, type Room } from "../setup.ts";
import { accountOf, ownAccount, startMs, token, tokenServer, type TokenServer } from "./token-server.ts";

const exchange = {
  type: "tokenExchange",
  clientId: "gateway",
  authentication: { method: "client_secret_basic", clientSecret: "secret" },
  resource: "https://crm.example/mcp",
  audience: "crm",
  scopes: ["read", "write"],
  subjectTokenType: "accessToken",
  actor: "none",
  boundTokens: "refuse",
} as const;

type Changes = Partial<Extract<CredentialOptions, { type: "tokenExchange" }>>;

interface Bench {
  readonly upstream: Awaited<ReturnType<typeof scripted>>;
  readonly server: TokenServer;
  readonly room: Room;
  /** Calls on an account, and sums up what came. */
  readonly ask: (account: OnAccountOf) => Promise<string>;
  /** What the upstream was shown, in order. */
  readonly shown: () => (string | undefined)[];
}

async function bench(
  changes: Changes = {},
  era: "modern" | "legacy" | "both" = "modern",
  bounds: Partial<Limits> = {},
): Promise<Bench> {
  const [upstream, server] = [await scripted({ era, capabilities: changing }), await tokenServer()];
  const credential = { ...exchange, issuer: server.url, ...changes };
  const options = { era: era === "both" ? "auto" : era, credential } as const;
  const room = roomFor(upstream.url, { options, limits: { ...hasty, ...bounds } });
  return {
    ...{ upstream, server, room },
    ask: async (account) => summary(await room.upstreams.request(call({ account }))),
    shown: () => upstream.received.map((request) => request.header("authorization")),
  };
}

/** Exchanges as they were asked for: not what the gateway asks for itself. */
function exchanges({ asked }: TokenServer): readonly Readonly<Record<string, string>>[] {
  return asked.map(({ form }) => form).filter(({ grant_type: type }) => type?.endsWith("token-exchange") === true);
}

describe("token exchange", () => {
  it("asks for a token of the caller's with the upstream as its target, and shows the upstream that one alone", async () => {
    const { server, upstream, ask, shown } = await bench();
    expect(await ask(accountOf({ token: "caller-secret" }))).toBe("result");
    expect(server.asked.map(({ form }) => form)).toEqual([
      {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token: "caller-secret",
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
        audience: "crm",
        resource: "https://crm.example/mcp",
        scope: "read write",
      },
    ]);
    expect(server.asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from("gateway:secret").toString("base64")}`);
    expect(shown()).toEqual(["Bearer token-1"]);
    expect(upstream.received.map(({ raw }) => raw.toString()).join()).not.toContain("caller-secret");
  });

  it("says what kind of token it is, as configured", async () => {
    const { server, ask } = await bench({ subjectTokenType: "jwt", audience: undefined, scopes: [] });
    await ask(accountOf());
    expect(server.asked[0]?.form).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: "caller-token-of-ada",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: "https://crm.example/mcp",
    });
  });

  it("is one for parallel calls of one caller, and another for every other", async () => {
    const { server, ask, shown } = await bench();
    server.answer = ({ form }) => ({ body: token(`for-${form["subject_token"]}`) });
    const callers = ["ada", "bob", "ada", "bob", "ada"];
    await Promise.all(callers.map((subject) => ask(accountOf({ subject }))));
    expect(exchanges(server).map((form) => form["subject_token"])).toEqual([
      "caller-token-of-ada",
      "caller-token-of-bob",
    ]);
    expect(shown().sort()).toEqual([
      ...Array<string>(3).fill("Bearer for-caller-token-of-ada"),
      ...Array<string>(2).fill("Bearer for-caller-token-of-bob"),
    ]);
  });

  it.each([
    ["another client of the same person", { clientId: "bot" }],
    ["the same subject of another tenant", { tenant: "other" }],
    ["a token of fewer scopes", { scopes: ["read"] }],
    ["a token of fewer groups", { groups: [] }],
  ])("is another for %s", async (_name, other) => {
    const { server, ask } = await bench();
    const groups = ["corp:admins", "corp:staff"];
    await ask(accountOf({ groups, scopes: ["read", "write"] }));
    await ask(accountOf({ groups: [...groups].reverse(), scopes: ["write", "read"], token: "renewed" }));
    expect(exchanges(server)).toHaveLength(1);
    await ask(accountOf({ groups, scopes: ["read", "write"], ...other }));
    expect(exchanges(server)).toHaveLength(2);
  });

  it("is made anew shortly before what came of it ends, and not a moment earlier", async () => {
    const { server, room, ask } = await bench();
    await ask(accountOf());
    room.clock.now += 569_999;
    await ask(accountOf());
    expect(exchanges(server)).toHaveLength(1);
    room.clock.now += 1;
    await ask(accountOf());
    expect(exchanges(server)).toHaveLength(2);
  });

  it("is made anew once after a 401 of the upstream", async () => {
    const { server, upstream, ask, shown } = await bench();
    upstream.script((request, wire) => {
      if (request.header("authorization") !== "Bearer token-1") return false;
      wire.json(401, {});
      return true;
    });
    expect(await ask(accountOf())).toBe("result");
    expect(shown()).toEqual(["Bearer token-1", "Bearer token-2"]);
    expect(exchanges(server)).toHaveLength(2);
  });

  it.each([
    ["that is no bearer token", token("t", { token_type: "mac" })],
    ["of no stated type", token("t", { issued_token_type: undefined })],
    ["of another type", token("t", { issued_token_type: "urn:ietf:params:oauth:token-type:refresh_token" })],
    ["that no header may hold", token("t\r\nx: y")],
    ["that is not there", { token_type: "Bearer" }],
  ])("takes no token %s", async (_name, body) => {
    const { server, upstream, ask } = await bench();
    server.answer = () => ({ body });
    expect(await ask(accountOf())).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(upstream.received).toEqual([]);
  });

  it("that is refused fails the call with the server's word for it, and repeats neither token nor text", async () => {
    const { server, upstream, room } = await bench();
    server.answer = () => ({
      status: 400,
      body: { error: "invalid_grant", error_description: "caller-secret is bad" },
    });
    const answer = await room.upstreams.request(call({ account: accountOf({ token: "caller-secret" }) }));
    expect(answer).toMatchObject({
      refusal: {
        code: "UPSTREAM_CREDENTIAL_UNAVAILABLE",
        facts: { upstream: "up", status: 400, error: "invalid_grant" },
      },
    });
    expect(JSON.stringify([answer, room.log])).not.toContain("caller-secret");
    expect(upstream.received).toEqual([]);
  });

  it("one caller's failure is nobody else's", async () => {
    const { server, ask } = await bench();
    server.answer = ({ form }, count) =>
      form["subject_token"]?.endsWith("bob") === true
        ? { status: 400, body: { error: "invalid_grant" } }
        : { body: token(`token-${count}`) };
    expect(await ask(accountOf({ subject: "bob" }))).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(await ask(accountOf({ subject: "ada" }))).toBe("result");
  });

  it("that cannot be renewed in an outage serves on until it ends, and no longer", async () => {
    const { server, room, ask } = await bench();
    await ask(accountOf());
    server.answer = () => ({ status: 503, body: {} });
    room.clock.now += 599_999;
    expect(await ask(accountOf())).toBe("result");
    room.clock.now += 1;
    expect(await ask(accountOf())).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
  });

  it("that the server refuses to renew is over at once", async () => {
    const { server, room, ask } = await bench();
    await ask(accountOf());
    server.answer = () => ({ status: 400, body: { error: "invalid_grant" } });
    room.clock.now += 570_000;
    expect(await ask(accountOf())).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
  });

  it("does not show a caller's token that has expired", async () => {
    const { server, ask, room } = await bench();
    const account = accountOf({ goodForMs: 10_000 });
    room.clock.now += 10_000;
    expect(await ask(account)).toBe("failed UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(server.asked).toEqual([]);
    room.clock.now -= 1;
    expect(await ask(account)).toBe("result");
  });

  it("does not show a caller's token that is bound to a key or certificate, and says so, whatever was exchanged before", async () => {
    const { server, upstream, room, ask } = await bench();
    const refused = {
      kind: "failed",
      refusal: {
        code: "UPSTREAM_CREDENTIAL_UNAVAILABLE",
        facts: { upstream: "up", issuer: server.url, reason: "sender-constrained" },
      },
    };
    const askBound = (): Promise<unknown> => room.upstreams.request(call({ account: accountOf({ bound: true }) }));
    expect(await askBound()).toMatchObject(refused);
    expect([server.asked, upstream.received]).toEqual([[], []]);
    // The refusal holds nobody up who comes with a token of no such kind, even at the same moment.
    expect(await ask(accountOf())).toBe("result");
    expect(await askBound()).toMatchObject(refused);
    expect(exchanges(server)).toHaveLength(1);
  });

  it("shows a bound token where the operator says so", async () => {
    const { server, ask } = await bench({ boundTokens: "send" });
    expect(await ask(accountOf({ bound: true, token: "bound-token" }))).toBe("result");
    expect(exchanges(server).map((form) => form["subject_token"])).toEqual(["bound-token"]);
  });

  it("keeps as many callers' tokens as its bound, the ones used last", async () => {
    const server = await tokenServer();
    const context = { ...limits, upstreamCredentialsHeldMax: 2 };
    const fetch = createGuardedFetch({ allow: "loopback", timeoutMs: 5_000, bytesMax: 10_000 });
    const options = { ...exchange, issuer: server.url };
    const credential = tokenExchange(options, { fetch, now: () => startMs, limits: context, signer: undefined });
    for (const subject of ["ada", "bob", "ada", "cyd", "ada", "bob"]) await credential.headers(accountOf({ subject }));
    expect(exchanges(server).map((form) => form["subject_token"]?.slice(-3))).toEqual(["ada", "bob", "cyd", "bob"]);
  });

  it("asks for the server's metadata once, whoever calls", async () => {
    const { server, ask } = await bench();
    for (const subject of ["ada", "bob", "cyd"]) await ask(accountOf({ subject }));
    expect(server.metadataReads).toBe(1);
  });
});

describe("the actor of an exchange", () => {
  it("is the gateway, by an assertion of its own, where that is configured", async () => {
    const server = await tokenServer();
    const signed: unknown[] = [];
    const signer: AssertionSigner = {
      issuer: "https://gw.example",
      sign: (typ, claims) => {
        signed.push([typ, claims]);
        return Promise.resolve("the.actor.token");
      },
    };
    const fetch = createGuardedFetch({ allow: "loopback", timeoutMs: 5_000, bytesMax: 10_000 });
    const options = { ...exchange, issuer: server.url, actor: "assertion" } as const;
    await tokenExchange(options, { fetch, now: () => startMs, limits, signer }).headers(accountOf());
    expect(server.asked[0]?.form).toMatchObject({
      actor_token: "the.actor.token",
      actor_token_type: "urn:ietf:params:oauth:token-type:jwt",
    });
    const claims = { iss: "https://gw.example", sub: "https://gw.example", aud: server.url, iat: 1_000, exp: 1_060 };
    expect(signed).toEqual([["JWT", claims]]);
  });
});

describe("on its own account", () => {
  it("the gateway asks as itself for the same target, and no caller gets that token", async () => {
    const { server, ask, shown } = await bench();
    expect(await ask(ownAccount)).toBe("result");
    expect(await ask(accountOf())).toBe("result");
    expect(server.asked[0]?.form).toEqual({
      grant_type: "client_credentials",
      audience: "crm",
      resource: "https://crm.example/mcp",
      scope: "read write",
    });
    expect(shown()).toEqual(["Bearer token-1", "Bearer token-2"]);
  });
});

describe("sessions and verdicts under credentials that differ by caller", () => {
  it("an upstream is asked for its era with the credential of whoever calls, once for each", async () => {
    const { upstream, ask } = await bench({}, "both");
    for (const subject of ["ada", "bob", "ada"]) expect(await ask(accountOf({ subject }))).toBe("result");
    expect(upstream.count("server/discover")).toBe(2);
    expect(upstream.received.every((request) => request.header("authorization") !== undefined)).toBe(true);
  });

  it("no two callers share a legacy session, even with one client session's id, and each is spoken to as its own", async () => {
    const { upstream, server, ask, room } = await bench({}, "legacy");
    server.answer = ({ form }) => ({ body: token(`for-${form["subject_token"]}`) });
    const accounts = ["ada", "bob"].map((subject) => ({ ...accountOf({ subject }), clientSession: "one" }));
    for (const account of accounts) expect(await ask(account)).toBe("result");
    expect(upstream.count("initialize")).toBe(2);
    const spoken = new Map<string, Set<string | undefined>>();
    for (const request of upstream.received) {
      const session = request.header("mcp-session-id") ?? "none";
      spoken.set(session, (spoken.get(session) ?? new Set()).add(request.header("authorization")));
    }
    expect([...spoken].filter(([session]) => session !== "none").map(([, shown]) => shown.size)).toEqual([1, 1]);
    expect(room.records.entries.size).toBe(2);
  });

  it("a session outlives the renewal of the token that it was opened with", async () => {
    const { upstream, ask, room } = await bench({}, "legacy");
    await ask(accountOf());
    room.clock.now += 580_000;
    await ask(accountOf({ token: "the next one" }));
    expect(upstream.count("initialize")).toBe(1);
    expect(upstream.received.at(-1)?.header("authorization")).toBe("Bearer token-2");
  });

  it("a session is ended with what its caller has left, and no token is exchanged for that", async () => {
    const { upstream, server, ask, room } = await bench({}, "legacy");
    await ask(accountOf());
    await room.upstreams.endSessions(accountOf({ token: undefined }));
    expect([upstream.sessions.size, exchanges(server).length]).toEqual([0, 1]);
  });

  it("what is kept of an account beyond its exchange does not hold the caller's token", async () => {
    const { ask, room, server, upstream } = await bench({}, "legacy", { upstreamSessionsMax: 1 });
    await ask(accountOf());
    room.clock.now += 600_000;
    await ask(accountOf({ subject: "bob" }));
    // The first session gives way, and nothing is left that its end could be told with.
    await until(() => room.records.entries.size === 1);
    for (let more = 0; more < 5; more += 1) await ask(accountOf({ subject: "bob" }));
    expect(exchanges(server).map((form) => form["subject_token"])).toEqual([
      "caller-token-of-ada",
      "caller-token-of-bob",
    ]);
    expect(upstream.received.filter(({ method }) => method === "DELETE")).toEqual([]);
  });
});

describe("a stream that was opened with an exchanged token", () => {
  it("goes on with what was exchanged for a caller whose next request came with a bound token", async () => {
    const { upstream, room, ask, server } = await bench({}, "legacy");
    const streams = listenTo(upstream);
    await ask(accountOf());
    const states = watchOf(room, accountOf({ token: undefined, bound: true }));
    await until(() => states.includes("standing"));
    expect([streams.shown, exchanges(server).length]).toEqual([["Bearer token-1"], 1]);
  });

  it("ends with it, is not opened again without a caller, and is once the caller's next request brought another", async () => {
    const { upstream, server, room, ask } = await bench({}, "legacy");
    const streams = listenTo(upstream);
    server.answer = (_asked, count) => ({ body: token(`token-${count}`, { expires_in: count === 1 ? 0.3 : 600 }) });
    await ask(accountOf());
    const states = watchOf(room, accountOf({ token: undefined }));
    await until(() => states.includes("standing"));
    room.clock.now += 300;
    await until(() => states.includes("lost"));
    expect(streams.shown).toEqual(["Bearer token-1"]);
    expect(exchanges(server)).toHaveLength(1);
    await ask(accountOf());
    await until(() => states.at(-1) === "standing");
    expect(streams.shown).toEqual(["Bearer token-1", "Bearer token-2"]);
  });
});

/** Serves streams, and notes what they were opened with. */
function listenTo(upstream: Awaited<ReturnType<typeof scripted>>): { readonly shown: (string | undefined)[] } {
  const shown: (string | undefined)[] = [];
  upstream.script((request, wire) => {
    if (request.method !== "GET") return false;
    shown.push(request.header("authorization"));
    wire.eventStream();
    return true;
  });
  return { shown };
}

function watchOf(room: Room, account: OnAccountOf): string[] {
  const states: string[] = [];
  room.upstreams.watch({
    upstream: "up",
    account,
    wanted: { lists: true, resources: [] },
    onNotification: () => undefined,
    onReopened: () => undefined,
    onState: (state) => states.push(state),
  });
  return states;
}
