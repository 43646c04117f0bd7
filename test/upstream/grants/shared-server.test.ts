import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { GrantUpstreamOptions } from "../../../src/upstream/grants/options.ts";
import {
  ada,
  approve,
  asAda,
  benchFor,
  bob,
  closeAfter,
  connect,
  editor,
  outcome,
  provider,
  redirectUri,
  tokenOf,
  valueOf,
  type Bench,
  type BenchOptions,
} from "./bench.ts";
import { upstreamAt } from "./making.ts";

const shared = "UPSTREAM_AUTHORIZATION_UNUSABLE issuer-shared";

/** An upstream that says whose sign-in it takes: one issuer after the other, and the last one from then on. */
async function naming(...issuers: string[]): Promise<string> {
  const server = createServer((request, response) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if (request.url?.startsWith("/.well-known/oauth-protected-resource") !== true) {
      response.writeHead(401).end();
      return;
    }
    const [issuer] = issuers.length > 1 ? issuers.splice(0, 1) : issuers;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ resource: `${origin}/mcp`, authorization_servers: [issuer] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closeAfter(
    () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function begin(bench: Pick<Bench, "grants">, upstream: string): Promise<string> {
  const begun = await bench.grants.pages.begin({ ...asAda, upstream, redirectUri });
  return outcome<unknown>(begun.ok ? { ok: true, value: "begun" } : begun) as string;
}

/** The honest upstream `up`, and `other`, which names the same authorization server. */
async function two(of: {
  readonly up?: Partial<GrantUpstreamOptions>;
  readonly other?: Partial<GrantUpstreamOptions>;
  readonly more?: BenchOptions;
}): Promise<{ readonly at: Awaited<ReturnType<typeof provider>>; readonly bench: Bench }> {
  const at = await provider();
  const fill = (changes: Partial<GrantUpstreamOptions> = {}): Partial<GrantUpstreamOptions> =>
    changes.issuer === "" ? { ...changes, issuer: at.issuer } : changes;
  const upstreams = {
    up: upstreamAt(at.url, fill(of.up)),
    other: upstreamAt(await naming(at.issuer), fill(of.other)),
  };
  return { at, bench: benchFor(at.url, { ...of.more, more: { upstreams, ...of.more?.more } }) };
}

const named: Partial<GrantUpstreamOptions> = { issuer: "" };

describe("an authorization server that two upstreams name", () => {
  it.each<[string, Parameters<typeof two>[0], up: string, other: string]>([
    ["and no operator is the first one's", {}, "begun", shared],
    ["and an operator for the first is the first one's", { up: named }, "begun", shared],
    ["and an operator for the second is the second one's", { other: named }, shared, "begun"],
    ["and an operator for both is taken for both", { up: named, other: named }, "begun", "begun"],
  ])("%s", async (_name, of, up, other) => {
    const { bench } = await two(of);
    expect([await begin(bench, "up"), await begin(bench, "other")]).toEqual([up, other]);
  });

  it("is said to be so on the page that would ask to connect, before anybody is sent there", async () => {
    const { at, bench } = await two({});
    expect(await begin(bench, "up")).toBe("begun");
    expect(outcome(await bench.grants.pages.describe(ada, "other"))).toBe(shared);
    expect(await begin(bench, "other")).toBe(shared);
    expect(at.seen.filter(({ path }) => path === "/authorize")).toEqual([]);
  });

  it("is one upstream's, although both are found at the same moment, at one replica or two", async () => {
    const { at, bench } = await two({});
    const replica = benchFor(at.url, { ...bench, more: { upstreams: bench.options.upstreams } });
    const begun = await Promise.all([begin(bench, "up"), begin(bench, "other"), begin(replica, "other")]);
    expect(new Set(begun)).toEqual(new Set(["begun", shared]));
    expect(begun[1]).toBe(begun[2]);
  });

  it("is not an upstream's whose own credential is for another that is reached without its users", async () => {
    const at = await provider();
    const bench = benchFor(at.url, { more: { issuersElsewhere: { billing: at.issuer } } });
    expect(await begin(bench, "up")).toBe(shared);
    const meant = benchFor(at.url, {
      upstream: { issuer: at.issuer },
      more: { issuersElsewhere: { billing: at.issuer } },
    });
    expect(await begin(meant, "up")).toBe("begun");
  });

  it.each<[string, (at: string, other: string) => Readonly<Record<string, GrantUpstreamOptions>>]>([
    ["is gone from the configuration", (_at, other) => ({ other: upstreamAt(other) })],
    [
      "is named another server",
      (at, other) => ({ up: upstreamAt(at, { issuer: "https://else.test" }), other: upstreamAt(other) }),
    ],
  ])("is free again once its first %s", async (_name, upstreams) => {
    const { at, bench } = await two({});
    expect(await begin(bench, "up")).toBe("begun");
    const { url } = bench.options.upstreams["other"]!;
    const later = benchFor(at.url, { ...bench, more: { upstreams: upstreams(at.url, url) } });
    expect(await begin(later, "other")).toBe("begun");
    const back = benchFor(at.url, { ...bench, more: { upstreams: bench.options.upstreams } });
    expect(await begin(back, "up")).toBe(shared);
  });

  it("stays its first one's for as long as that is used", async () => {
    const at = await provider({ expiresIn: undefined });
    const upstreams = { up: upstreamAt(at.url), other: upstreamAt(await naming(at.issuer)) };
    const bench = benchFor(at.url, { more: { upstreams } });
    valueOf(await connect(bench));
    const { upstreamIssuerIdleMs, grantTouchMs } = bench.options.limits;
    for (let passedMs = 0; passedMs <= upstreamIssuerIdleMs; passedMs += 40 * grantTouchMs) {
      bench.clock.now += 40 * grantTouchMs;
      await tokenOf(bench);
    }
    expect(await begin(bench, "other")).toBe(shared);
  });

  it("renews and revokes the grants that were there before it was shared", async () => {
    const { at, bench } = await two({});
    valueOf(await connect(bench));
    const upstreams = {
      ...bench.options.upstreams,
      other: { ...bench.options.upstreams["other"]!, issuer: at.issuer },
    };
    const later = benchFor(at.url, { ...bench, more: { upstreams } });
    bench.clock.now += 3_600_000;
    expect(at.live).toContain(await tokenOf(later));
    expect(at.refreshes()).toBe(1);
    expect(await begin(later, "up")).toBe(shared);
    expect(outcome(await later.grants.pages.revoke(ada, "up"))).toEqual({ revokedAtProvider: true });
  });

  it("keeps the grants at the two apart where an operator named it for both", async () => {
    const { bench } = await two({ up: named, other: named });
    valueOf(await connect(bench));
    expect(outcome(await bench.grants.tokens.tokenFor("other", asAda))).toBe(
      "UPSTREAM_CONNECTION_REQUIRED not-connected",
    );
    const { url, attempt } = valueOf(await bench.grants.pages.begin({ ...asAda, upstream: "other", redirectUri }));
    valueOf(await bench.grants.pages.finish({ person: ada, attempt, params: await approve(url) }));
    expect(await bench.grants.pages.revokeAll(ada)).toEqual({ ended: 2, revokedAtProvider: 2 });
  });
});

describe("an upstream that two replicas first find with two servers at once", () => {
  it.each([
    ["stays with the one that was kept first, and the other is refused", false],
    ["is with the configured one at the replica that has one", true],
  ])("%s", async (_name, isConfigured) => {
    const [one, other] = [await provider(), await provider()];
    const url = await naming(one.issuer, other.issuer);
    const first = benchFor(url);
    // Both have chosen before either has kept anything.
    let waiting: (() => void)[] = [];
    const together = async (): Promise<void> => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 2) for (const go of waiting.splice(0)) go();
      });
    };
    const get: Bench["store"]["get"] = async (key) => {
      const value = await first.store.get(key);
      if (key[0] === "grant-issuer" && value === undefined) await together();
      return value;
    };
    const store = isConfigured ? first.store : { ...first.store, get };
    const upstream = isConfigured ? { issuer: other.issuer } : {};
    const replicas = [benchFor(url, { ...first, store }), benchFor(url, { ...first, store, upstream })] as const;
    const begun = isConfigured
      ? [await begin(replicas[0], "up"), await begin(replicas[1], "up")]
      : await Promise.all(replicas.map((bench) => begin(bench, "up")));
    waiting = [];
    const kept = await first.store.get(["grant-issuer", "default", "up"]);
    if (isConfigured) {
      expect([begun, kept]).toEqual([["begun", "begun"], other.issuer]);
    } else {
      expect(begun.toSorted()).toEqual(["UPSTREAM_ISSUER_CHANGED", "begun"]);
      const loser = replicas[begun.indexOf("UPSTREAM_ISSUER_CHANGED")]!;
      const quarantine = loser.witnessed.find((fact) => "known" in fact);
      expect(quarantine).toMatchObject({ upstream: "up", known: kept });
      expect([one.issuer, other.issuer]).toContain(kept);
      const asBob = { person: bob, clientId: editor, upstream: "up", redirectUri };
      expect(outcome(await loser.grants.pages.begin(asBob))).toBe("UPSTREAM_ISSUER_CHANGED");
    }
  });
});
