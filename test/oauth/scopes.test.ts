import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer, trusted } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Received } from "../journey/http-client.ts";
import { modernCall, refusalIn } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

const tools = ["by_who", "by_when", "by_step"].map((name) => ({ name, inputSchema: { type: "object" } }));
const anyone = { anyone: true };
const rules = [
  {
    id: "who",
    effect: "allow",
    who: { scopes: { all: ["crm:read", "crm:write"] } },
    what: { upstream: "crm", tool: "by_who" },
  },
  {
    id: "when",
    effect: "allow",
    who: anyone,
    what: { upstream: "crm", tool: "by_when" },
    when: '"crm:read" in principal.scopes && "crm:write" in principal.scopes',
  },
  {
    id: "step",
    effect: "allow",
    who: anyone,
    what: { upstream: "crm", tool: "by_step" },
    stepUp: { scopes: { all: ["crm:read", "crm:write"] } },
  },
];

beforeAll(async () => {
  issuer = await startIssuer();
  upstream = await startScriptedUpstream({ era: "both", tools });
  gateway = await startGatewayUnderTest({
    upstreams: { crm: upstream.url },
    servers: {},
    rules,
    config: {
      auth: { issuers: [trusted(issuer)], scopeImplications: { "crm:admin": ["crm:read", "crm:write"] } },
      servers: {
        crm: {
          scopes: { minimal: ["mcp:use"], supported: ["mcp:use", "crm:read", "crm:write"] },
          upstreams: { crm: {} },
        },
      },
    },
  });
});

afterAll(async () => {
  await gateway.remove();
  await Promise.all([upstream.close(), issuer.close()]);
});

async function call(scope: string, name: string): Promise<Received> {
  const token = await issuer.mint(gateway.resource("crm"), { scope });
  return modernCall({ gateway, server: "crm", token }, "tools/call", { name, arguments: {} });
}

describe("rules by who, by condition and by step-up agree", () => {
  it.each([
    ["crm:read crm:write", true],
    ["crm:*", true],
    ["crm:admin", true],
    ["mcp:use crm:write crm:read", true],
    ["crm:write", false],
    ["crm", false],
    ["*", false],
    ["hr:*", false],
    ["crmx:*", false],
    ["", false],
  ])("on %j: %s", async (scope, allowed) => {
    for (const name of tools.map((tool) => tool.name)) {
      const answer = await call(scope, name);
      const isCalled = answer.status === 200 && answer.json["result"] !== undefined && refusalIn(answer).code === "";
      expect([name, isCalled]).toEqual([name, allowed]);
    }
  });
});

describe("a step-up", () => {
  it("names every scope of the rule and the server's minimal ones, whatever the token lacks of them", async () => {
    for (const scope of ["", "crm:write", "mcp:use crm:read"]) {
      const answer = await call(scope, "by_step");
      expect(answer.status).toBe(403);
      expect(answer.headers["www-authenticate"]).toContain('scope="crm:read crm:write mcp:use"');
    }
  });

  it("is what the first challenge does not yet ask for: that names the minimal scopes alone", async () => {
    const answer = await modernCall({ gateway, server: "crm", token: undefined }, "tools/list");
    expect(answer.headers["www-authenticate"]).toContain('scope="mcp:use"');
  });
});
