import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { grant, type GrantDesk, type GrantWish, type ListedGrant } from "../../src/cli/grant.ts";
import { limits } from "../../src/model/limits.ts";
import { StoreUnavailable } from "../../src/model/records.ts";
import { refuse } from "../../src/model/refusal.ts";
import { ok } from "../../src/model/result.ts";
import { captured, folderOf, soundPolicy } from "./workspace.ts";

const configuration = `publicUrl: https://mcp.example.com
auth:
  issuers:
    - { alias: corp, issuer: https://login.example.com, tenantClaim: org }
    - { alias: partner, issuer: https://partner.example.com, tenant: acme }
  builtIn:
    users: [{ username: ada, subject: ada, password: "\${env:WORD}" }]
    clients:
      - { clientId: nightly, clientSecret: "\${env:WORD}", grants: [clientCredentials] }
      - { clientId: portal, redirectUris: ["https://portal.example.com/cb"] }
    cookieSecret: "\${env:KEY}"
  headless: { alias: robots }
upstreams:
  crm: { url: "https://crm.example.net/mcp", credential: { type: user } }
  open: { url: "https://open.example.net/mcp" }
servers:
  support: { upstreams: { crm: {}, open: { prefix: open_ } } }
policies: ./policies
store: { redis: { url: "\${env:REDIS}" } }
keys: { session: "\${env:KEY}" }
`;
const env = (name: string): string | undefined =>
  ({ WORD: "correct horse battery", KEY: "k".repeat(32), REDIS: "redis://127.0.0.1:1" })[name];

const present: ListedGrant = {
  upstream: "crm",
  issuer: "https://auth.crm.example",
  scopes: ["crm:read", "crm:\u001b[2Jwrite"],
  since: Date.UTC(2026, 10, 1),
  clients: ["editor"],
  isUsable: true,
  reason: undefined,
};

interface Bench {
  readonly code: number;
  readonly out: readonly string[];
  readonly said: string;
  /** What was done at the desk, in order. */
  readonly done: readonly string[];
}

/** The command at a desk with these grants, by subject. */
async function run(
  wanted: GrantWish,
  of: {
    readonly who?: readonly [subject: string, issuer: string];
    readonly tenant?: string;
    readonly grants?: Readonly<Record<string, readonly ListedGrant[]>>;
    readonly desk?: Partial<GrantDesk>;
    readonly text?: string;
  } = {},
): Promise<Bench> {
  const done: string[] = [];
  const desk: GrantDesk = {
    list: ({ subject }) => Promise.resolve(of.grants?.[subject] ?? []),
    assign: (from, to, { upstream, clientId }) => {
      done.push(`${upstream}: ${from.subject} of ${from.issuer} to ${to.subject} of ${to.issuer} for ${clientId}`);
      return Promise.resolve(ok(undefined));
    },
    admit: ({ subject }, clientId, upstream) => {
      done.push(`${upstream}: ${subject} admits ${clientId}`);
      return Promise.resolve(ok(undefined));
    },
    revoke: ({ subject }, upstream) => {
      done.push(`${upstream}: revoke ${subject}`);
      return Promise.resolve(true);
    },
    tell: (ref) => {
      done.push(/^[0-9A-Z]{10}$/.test(ref) ? "tell" : ref);
      return Promise.resolve();
    },
    close: () => {
      done.push("close");
      return Promise.resolve();
    },
    ...of.desk,
  };
  const output = captured();
  const config = join(
    folderOf({ "sallyport.yaml": of.text ?? configuration, "policies/support.yaml": soundPolicy }),
    "sallyport.yaml",
  );
  const [subject, issuer] = of.who ?? ["nightly", "robots"];
  const order = { config, subject, issuer, tenant: of.tenant, wanted };
  const code = await grant(order, env, output, () => Promise.resolve(desk));
  return { code, out: output.stdout, said: output.stderr.join("\n"), done };
}

const ada = { subject: "ada", issuer: "local" } as const;
const assigning = { does: "assign", upstream: "crm", clients: ["1f2e"], from: ada } as const;

describe("sallyport grant list", () => {
  it("says who has which grant, from whom, with what, since when and for which clients, and no control character", async () => {
    const lost = { ...present, upstream: "wiki", scopes: [], clients: [], isUsable: false, reason: "expired" };
    const { code, out, done } = await run(
      { does: "list" },
      { who: ["ada", "local"], grants: { ada: [present, lost], nightly: [present] } },
    );
    expect([code, done]).toEqual([0, ["close"]]);
    expect(out).toEqual([
      "ada of https://mcp.example.com  crm  from https://auth.crm.example  scopes: crm:read crm:\\u{1b}[2Jwrite  since 2026-11-01T00:00:00.000Z  clients: editor",
      "ada of https://mcp.example.com  wiki  from https://auth.crm.example  scopes: not stated  since 2026-11-01T00:00:00.000Z  clients: none  lost  to be connected again: expired",
    ]);
  });

  it("says nothing of somebody who has none", async () => {
    expect(await run({ does: "list" })).toMatchObject({ code: 0, out: [], said: "" });
  });
});

describe("sallyport grant assign", () => {
  it.each([
    ["a service by headless tokens", ["nightly", "robots"], "headless"],
    ["a service of the built-in server", ["nightly", "local"], "https://mcp.example.com"],
  ] as const)(
    "moves the grant to %s, opens it to every client named, and tells the replicas",
    async (_, who, issuer) => {
      const wanted = { ...assigning, clients: ["1f2e", "3a4b"] };
      const { code, said, done } = await run(wanted, { who, grants: { ada: [present] } });
      expect(code).toBe(0);
      expect(done).toEqual([
        `crm: ada of https://mcp.example.com to nightly of ${issuer} for 1f2e`,
        "crm: nightly admits 3a4b",
        "tell",
        "close",
      ]);
      expect(said).toMatch(
        /^The grant of ada at crm is that of nightly now, for 2 clients; ada has to connect again to use it \([0-9A-Z]{10}\)\.$/,
      );
    },
  );

  it.each<[string, Parameters<typeof run>[1] & { wanted?: GrantWish }, string]>([
    ["a grant that is not there", {}, "ada has no grant at crm"],
    ["a grant at another upstream", { grants: { ada: [{ ...present, upstream: "wiki" }] } }, "ada has no grant at crm"],
    [
      "a grant that is lost",
      { grants: { ada: [{ ...present, isUsable: false }] } },
      "the grant of ada at crm is lost: they have to connect again first",
    ],
    [
      "one where the service has one already",
      { grants: { ada: [present], nightly: [{ ...present, isUsable: false }] } },
      "nightly has a grant at crm already: revoke it first",
    ],
    ["one to a person", { who: ["bob", "local"] }, "bob is no service: people connect"],
    ["one to a client that no service uses", { who: ["portal", "local"] }, "portal is no service: people connect"],
    [
      "one to its owner",
      { who: ["nightly", "local"], wanted: { ...assigning, from: { subject: "nightly", issuer: "local" } } },
      "the grant of nightly is theirs already",
    ],
    [
      "one across tenants",
      {
        who: ["bot", "corp"],
        tenant: "acme",
        wanted: { ...assigning, from: { subject: "nightly", issuer: "robots" } },
      },
      "everybody of robots is of tenant default",
    ],
    ["one into another tenant", { who: ["bot", "partner"] }, "ada is of tenant default, and bot of acme"],
    ["one by somebody of an issuer that is none", { who: ["bot", "corq"] }, "corq is none of the issuers"],
    ["one from somebody of no issuer", { wanted: { ...assigning, from: { ...ada, issuer: "x" } } }, "x is none of"],
    ["one at an upstream without grants", { wanted: { ...assigning, upstream: "open" } }, "open is none of the"],
    [
      "one at no upstream",
      { wanted: { ...assigning, upstream: "nope" } },
      "nope is none of the upstreams that people connect: crm",
    ],
    [
      "one for too many clients",
      { wanted: { ...assigning, clients: Array<string>(limits.grantClientsMax + 1).fill("c") } },
      "--client is given once to",
    ],
  ])("refuses %s, and touches nothing", async (_, { wanted = assigning, ...of }, because) => {
    const { code, out, said, done } = await run(wanted, of);
    expect([code, out]).toEqual([1, []]);
    expect(said).toContain(`No: ${because}`);
    expect(done.filter((one) => one !== "close")).toEqual([]);
  });

  it("does not say that it was done when somebody else was quicker", async () => {
    const gone = refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream: "crm", reason: "not-connected" });
    const { code, said, done } = await run(assigning, {
      grants: { ada: [present] },
      desk: { assign: () => Promise.resolve(gone) },
    });
    expect([code, said, done]).toEqual([
      1,
      "No: the grant of ada at crm cannot be used: UPSTREAM_CONNECTION_REQUIRED (not-connected).",
      ["close"],
    ]);
  });
});

describe("sallyport grant admit", () => {
  const admitting = { does: "admit", upstream: "crm", clients: ["3a4b"] } as const;

  it("opens a service's grant to its clients, and nobody's who could agree themselves", async () => {
    expect((await run(admitting)).done).toEqual(["crm: nightly admits 3a4b", "tell", "close"]);
    const { code, said, done } = await run(admitting, { who: ["ada", "local"] });
    expect([code, done]).toEqual([1, []]);
    expect(said).toContain("ada is no service");
  });
});

describe("sallyport grant revoke", () => {
  const revoking = { does: "revoke", upstream: "crm" } as const;

  it.each([
    [true, "is ended here, and revoked there too"],
    [false, "is ended here, but not there"],
  ])("ends a grant, of a person as well, and says whether it was revoked there (%s)", async (there, expected) => {
    const of = {
      who: ["ada", "local"],
      grants: { ada: [present] },
      desk: { revoke: () => Promise.resolve(there) },
    } as const;
    const { code, said } = await run(revoking, of);
    expect([code, said]).toEqual([0, expect.stringContaining(`The grant of ada at crm ${expected}`)]);
  });

  it("says so where there is none", async () => {
    expect(await run(revoking)).toMatchObject({ code: 1, said: "No: nightly has no grant at crm.", done: ["close"] });
  });
});

describe("a command about grants", () => {
  it.each<[string, string, string]>([
    [
      "whose store is in memory",
      configuration
        .replace(/^store:.*$/mu, "store: { memory: true }")
        .replace(/^ {2}headless:.*$/mu, "  browser: { issuer: corp, clientId: gate }"),
      "No: the store is in the memory of the gateway, which no command reaches; restart it instead.",
    ],
    [
      "where no upstream takes grants",
      configuration.replace(", credential: { type: user }", ""),
      "No: no upstream has a credential of type user, so there are no grants.",
    ],
    ["that is wrong", configuration.replace("crm: {}", "crn: {}"), "[serversNameKnownUpstreams]"],
  ])("does nothing with a configuration %s", async (_, text, expected) => {
    const { code, said, done } = await run({ does: "list" }, { text, who: ["ada", "local"] });
    expect([code, done]).toEqual([1, []]);
    expect(said).toContain(expected);
  });

  it("says that the store does not answer", async () => {
    const list = (): Promise<never> => Promise.reject(new StoreUnavailable("down"));
    expect(await run({ does: "list" }, { desk: { list } })).toMatchObject({
      code: 1,
      said: "No: the store does not answer; repeat the command.",
      done: ["close"],
    });
  });
});
