import { describe, expect, it } from "vitest";
import { ada, asAda, benchFor, bob, connect, editor, outcome, provider, tokenOf, valueOf } from "./bench.ts";
import type { Bench } from "./bench.ts";
import type { Provider } from "./provider.ts";

async function connected(): Promise<{ readonly at: Provider; readonly bench: Bench }> {
  const at = await provider({ challengeScope: "read list", expiresIn: 100 });
  const bench = benchFor(at.url);
  valueOf(await connect(bench));
  return { at, bench };
}

const later = (bench: Bench): void => void (bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax);

describe("the evidence is told", () => {
  it("who connected which upstream, at which server, with which scopes, for which client", async () => {
    const { at, bench } = await connected();
    const about = { person: ada, upstream: "up", issuer: at.issuer, scopes: ["read", "list"] };
    expect(bench.witnessed).toEqual([{ did: "connected", ...about, clientId: editor }]);
  });

  it("of each client that is admitted, once", async () => {
    const { bench } = await connected();
    for (let times = 0; times < 2; times += 1) valueOf(await bench.grants.pages.consent(ada, "other", "up"));
    expect(bench.witnessed.slice(1)).toMatchObject([{ did: "opened", person: ada, clientId: "other" }]);
  });

  it("of a revocation by the person and by offboarding, and of none where nothing was", async () => {
    const { at, bench } = await connected();
    valueOf(await bench.grants.pages.revoke(ada, "up"));
    valueOf(await bench.grants.pages.revoke(ada, "up"));
    valueOf(await connect(bench));
    await bench.grants.pages.revokeAll(ada);
    const revoked = { did: "revoked", person: ada, issuer: at.issuer, scopes: ["read", "list"] };
    expect(bench.witnessed).toMatchObject([{ did: "connected" }, revoked, { did: "connected" }, revoked]);
  });

  it("of a grant that the server ended, once and with the reason", async () => {
    const { at, bench } = await connected();
    at.withdraw();
    bench.clock.now += 100_000;
    await Promise.all([tokenOf(bench), tokenOf(bench), tokenOf(bench)]);
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED withdrawn");
    expect(bench.witnessed.slice(1)).toEqual([
      {
        did: "lost",
        person: ada,
        upstream: "up",
        issuer: at.issuer,
        scopes: ["read", "list"],
        clientId: "",
        reason: "withdrawn",
      },
    ]);
  });

  it("of no loss where the grant was revoked while the server was being asked", async () => {
    const { at, bench } = await connected();
    at.withdraw();
    const replace = bench.store.replace.bind(bench.store);
    bench.clock.now += 100_000;
    const racing = benchFor(at.url, {
      clock: bench.clock,
      store: {
        ...bench.store,
        replace: async (key, ...rest) => {
          // The second writing of the grant is the one that would lose it.
          if (key[0] === "grant" && at.refreshes() > 0) await bench.grants.pages.revoke(ada, "up");
          return replace(key, ...rest);
        },
      },
    });
    expect(await tokenOf(racing)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(racing.witnessed).toEqual([]);
    expect(bench.witnessed.map((fact) => "did" in fact && fact.did)).toEqual(["connected", "revoked"]);
  });

  it("of whom a grant was assigned to", async () => {
    const { at, bench } = await connected();
    valueOf(await bench.grants.pages.assign(ada, bob, { upstream: "up", clientId: "bot" }));
    const assigned = { did: "assigned", person: bob, upstream: "up", issuer: at.issuer, scopes: ["read", "list"] };
    expect(bench.witnessed.slice(1)).toEqual([{ ...assigned, clientId: "bot" }]);
  });

  it("of an upstream that names another server: once for each change, whatever it names and whoever asks", async () => {
    const { at, bench } = await connected();
    const name = async (...issuers: string[]): Promise<string> => {
      at.ways = { ...at.ways, resourceChanges: { authorization_servers: issuers } };
      later(bench);
      return outcome(await connect(bench)) as string;
    };
    for (const issuer of ["https://evil-1.example", "https://evil-2.example"])
      expect(await name(issuer)).toBe("UPSTREAM_ISSUER_CHANGED");
    await name(at.issuer);
    expect(await name("https://evil-3.example", "https://evil-4.example")).toBe("UPSTREAM_ISSUER_CHANGED");
    const told = { upstream: "up", known: at.issuer };
    expect(bench.witnessed.filter((fact) => "known" in fact)).toEqual([
      { ...told, found: ["https://evil-1.example"] },
      { ...told, found: ["https://evil-3.example", "https://evil-4.example"] },
    ]);
  });

  it("and of no token", async () => {
    const { at, bench } = await connected();
    const first = await tokenOf(bench);
    valueOf(await bench.grants.tokens.renewed("up", asAda, first));
    valueOf(await bench.grants.pages.revoke(ada, "up"));
    const told = JSON.stringify([bench.witnessed, bench.logged]);
    for (const token of at.live) expect(told).not.toContain(token);
    expect(told).not.toMatch(/refresh-|access-/);
  });
});
