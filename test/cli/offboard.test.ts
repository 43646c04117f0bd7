import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { offboard, readmit, type Offboarding } from "../../src/cli/offboard.ts";
import { captured, folderOf, soundPolicy } from "./workspace.ts";

const both = `publicUrl: https://mcp.example.com
auth:
  issuers:
    - { alias: corp, issuer: https://login.example.com }
    - { alias: orgs, issuer: https://orgs.example.com, tenantClaim: org }
  builtIn:
    alias: own
    provider: { issuer: https://login.example.com, clientId: gate, clientSecret: "\${env:WORD}" }
    assertionIssuers: [{ alias: okta, issuer: https://orgs.example.com }]
    clients:
      - { clientId: nightly, clientSecret: "\${env:WORD}", grants: [clientCredentials] }
      - { clientId: agent, clientSecret: "\${env:WORD}", grants: [identityAssertion] }
    cookieSecret: "\${env:KEY}"
  headless: { alias: robots }
upstreams: { crm: { url: "https://crm.example.net/mcp" } }
servers: { support: { upstreams: { crm: {} } } }
policies: ./policies
store: { redis: { url: "\${env:REDIS}" } }
keys: { session: "\${env:KEY}" }
`;
const apart = both.replace(/ {2}builtIn:[^]*?(?= {2}headless)/u, "");
const env = (name: string): string | undefined =>
  ({ WORD: "correct horse battery", KEY: "k".repeat(32), REDIS: "redis://127.0.0.1:1" })[name];

interface At {
  readonly who: readonly [subject: string, issuer: string];
  readonly tenant?: string;
  /** By `subject of issuer`. */
  readonly traces?: Readonly<Record<string, "denied" | "present">>;
  readonly text?: string;
  readonly command?: typeof offboard;
}

/** What the command says of other names, after all that it did. */
async function hints({
  who: [subject, issuer],
  tenant,
  traces = {},
  text = both,
  command = offboard,
}: At): Promise<string[]> {
  const means: Offboarding = {
    deny: () => Promise.resolve(),
    admit: () => Promise.resolve(true),
    tell: () => Promise.resolve(),
    endSessions: () => Promise.resolve(),
    endGrants: () => Promise.resolve({ ended: 0, revokedAtProvider: 0 }),
    revokeTokens: () => Promise.resolve(0),
    forgetSignIn: () => Promise.resolve(),
    traceOf: ({ tenant: of, issuer: by, subject: name }) =>
      Promise.resolve(of === "default" ? (traces[`${name} of ${by}`] ?? "none") : "present"),
    close: () => Promise.resolve(),
  };
  const output = captured();
  const config = join(folderOf({ "sallyport.yaml": text, "policies/support.yaml": soundPolicy }), "sallyport.yaml");
  const order = { config, subject, issuer, tenant, days: 1 };
  expect(await command(order, env, output, () => Promise.resolve(means))).toBe(0);
  return output.stderr.filter((line) => line.includes("sallyport offboard"));
}

const own = "https://mcp.example.com";
const mayBe = (alias: string): string =>
  `If ${alias} knows them as well, by this name or another: sallyport offboard SUBJECT --issuer ${alias}`;
const isThere = (name: string, alias: string): string =>
  `${name} of ${alias} is let in still; if that is the same person: sallyport offboard ${name} --issuer ${alias}`;

describe("whoever is offboarded by one of their two names", () => {
  it.each<[string, At, string[]]>([
    ["may have another at the built-in server", { who: ["ada", "corp"] }, [mayBe("own")]],
    [
      "has one there that is let in",
      { who: ["ada", "corp"], traces: { [`ada of ${own}`]: "present" } },
      [isThere("ada", "own")],
    ],
    ["has one there that is denied already", { who: ["ada", "corp"], traces: { [`ada of ${own}`]: "denied" } }, []],
    [
      "has one there that an assertion brought, with its issuer's alias",
      { who: ["ada", "orgs"], tenant: "acme", traces: { [`okta:ada of ${own}`]: "present" } },
      [isThere("okta:ada", "own")],
    ],
    [
      "has one there that is denied and one that is not",
      {
        who: ["ada", "orgs"],
        tenant: "acme",
        traces: { [`okta:ada of ${own}`]: "denied", [`ada of ${own}`]: "present" },
      },
      [isThere("ada", "own")],
    ],
    [
      "has others at the external issuers, where the tenant is not known for all",
      { who: ["ada", "own"], traces: { "ada of https://login.example.com": "present" } },
      [isThere("ada", "corp"), mayBe("orgs")],
    ],
    ["is a service of the built-in server", { who: ["nightly", "own"] }, []],
    ["is a service by headless tokens", { who: ["nightly", "robots"] }, []],
    ["has no other where nobody signs in here", { who: ["ada", "corp"], text: apart }, []],
    ["is let in again", { who: ["ada", "corp"], command: readmit }, []],
  ])("%s", async (_, at, expected) => {
    expect(await hints(at)).toEqual(expected);
  });
});
