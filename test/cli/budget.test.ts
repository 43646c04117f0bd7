import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { check } from "../../src/cli/check.ts";
import { measureCosts } from "../../src/compose-costs.ts";
import { writtenLock } from "../catalog/lock/lock-bench.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { captured, folderOf } from "./workspace.ts";

const inputSchema = { type: "object", properties: { id: { type: "string" } } };
const get = { name: "get", description: "Gets it.", inputSchema };
const drop = { name: "drop", description: "x".repeat(400), inputSchema };
const rest = { annotations: { readOnlyHint: true }, outputSchema: inputSchema, _meta: { a: "b".repeat(100) } };

/** As a model reads it, in 4 bytes a token, rounded up. */
function tokens(...tools: readonly (readonly [name: string, description: string])[]): number {
  const texts = tools.map(([name, description]) => JSON.stringify({ name, description, inputSchema }));
  return texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
}

const whole = tokens(["crm_get", "Gets it."], ["crm_drop", "x".repeat(400)]);

interface Setting {
  readonly server?: object;
  readonly upstream?: object;
  readonly lock?: string;
  readonly rules?: readonly object[];
  readonly budget?: boolean;
  readonly live?: boolean;
}

const allowAll = { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } };

async function checked(of: Setting): Promise<{ code: number; context: readonly string[]; stderr: string }> {
  const config = {
    publicUrl: "https://mcp.example.com",
    auth: { issuers: [{ alias: "corp", issuer: "https://login.example.com" }] },
    upstreams: { crm: { url: "https://crm.example.net/mcp", ...of.upstream } },
    servers: { support: { upstreams: { crm: { prefix: "crm_" } }, ...of.server } },
    policies: "./policies",
    ...(of.lock === undefined ? {} : { catalogLock: "./catalog.lock.json" }),
  };
  const folder = folderOf({
    "sallyport.yaml": JSON.stringify(config),
    "policies/a.yaml": JSON.stringify({ policy: "a", rules: of.rules ?? [allowAll] }),
    ...(of.lock === undefined ? {} : { "catalog.lock.json": of.lock }),
  });
  const output = captured();
  const order = { file: join(folder, "sallyport.yaml"), budget: of.budget ?? false, live: of.live ?? false };
  const code = await check(order, { env: () => undefined, output, measure: measureCosts });
  const from = output.stdout.indexOf("Context (tokens, estimated at 4 bytes each)");
  return { code, context: from < 0 ? [] : output.stdout.slice(from + 1), stderr: output.stderr.join("\n") };
}

const lock = (): Promise<string> => writtenLock({ crm: { tool: [{ ...get, ...rest }, drop] } });

describe("a budget", () => {
  it("is kept by what is exactly as large as it, and says so", async () => {
    const { code, context } = await checked({ lock: await lock(), server: { budget: { tokens: whole } } });
    expect(context).toEqual([
      `  support, all that it has: ${whole} (2 tools, instructions 0); within the budget of ${whole}`,
    ]);
    expect(code).toBe(0);
  });

  it("that is one token smaller fails the check, and the largest tools are named", async () => {
    const { code, context, stderr } = await checked({
      lock: await lock(),
      server: { budget: { tokens: whole - 1 } },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("servers.support is over its budget.");
    expect(context).toEqual([
      `  support, all that it has: ${whole} (2 tools, instructions 0); over the budget of ${whole - 1}`,
      `      crm_drop: ${tokens(["crm_drop", "x".repeat(400)])}`,
      `      crm_get: ${tokens(["crm_get", "Gets it."])}`,
    ]);
  });

  it("counts instructions, the server's own and the upstream's", async () => {
    const text = await writtenLock({ crm: { tool: [get], instructions: "abcdefgh" } });
    const { context } = await checked({ lock: text, server: { instructions: "abcd", budget: { tokens: 1_000 } } });
    expect(context[0]).toContain(`(1 tool, instructions ${"abcd\n\nabcdefgh".length / 4 + 0.5})`);
  });

  it("is measured for each principal by what that one sees, under the names it sees", async () => {
    const rules = [
      { id: "some", effect: "allow", who: { groups: ["corp:staff"] }, what: { upstream: "crm", tool: "get" } },
      {
        id: "leads",
        effect: "allow",
        who: { groups: ["corp:leads"] },
        what: { upstream: "crm", tool: ["get", "drop"] },
      },
    ];
    const presentations = [
      { id: "short", who: { groups: ["corp:leads"] }, describe: { crm: { tools: { drop: "Drops." } } } },
    ];
    const as = [{ groups: ["corp:staff"] }, { groups: ["corp:leads"] }, {}];
    const { code, context } = await checked({
      lock: await lock(),
      rules,
      server: { presentations, budget: { tokens: 60, as } },
    });
    const short = tokens(["crm_get", "Gets it."], ["crm_drop", "Drops."]);
    expect(code).toBe(0);
    expect(context).toEqual([
      `  support, as {"groups":["corp:staff"]}: ${tokens(["crm_get", "Gets it."])} (1 tool, instructions 0); within the budget of 60`,
      `  support, as {"groups":["corp:leads"]}, shown as short: ${short} (2 tools, instructions 0); within the budget of 60`,
      "  support, as {}: 0 (0 tools, instructions 0); within the budget of 60",
    ]);
  });

  it("leaves out what policy presets, as the caller is not shown it", async () => {
    const preset = {
      id: "own",
      effect: "constrain",
      who: { anyone: true },
      what: { upstream: "crm", tool: "get" },
      presets: { id: "1" },
    };
    const text = await writtenLock({ crm: { tool: [get] } });
    const server = { budget: { tokens: 1_000, as: [{}] } };
    const [before, after] = [
      await checked({ lock: text, server }),
      await checked({ lock: text, server, rules: [allowAll, preset] }),
    ].map(({ context }) => Number(/: (\d+) \(/.exec(context[0] ?? "")?.[1]));
    expect(before).toBe(tokens(["crm_get", "Gets it."]));
    expect(after).toBeLessThan(before ?? 0);
  });

  it("that is for somebody who cannot be is a fault", async () => {
    const server = { budget: { tokens: 10, as: [{ issuer: "crop" }] } };
    const { code, stderr } = await checked({ lock: await lock(), server });
    expect(code).toBe(1);
    expect(stderr).toContain("servers.support.budget.as[0]");
    expect(stderr).toContain("crop");
  });
});

describe("definitions that are not known", () => {
  const server = { budget: { tokens: 10 } };

  it("leave a budget open, which is said, and no reason to fail until somebody asks for it", async () => {
    const { code, context } = await checked({ server });
    expect(code).toBe(0);
    expect(context).toEqual([
      "  support, all that it has: at least 0 (0 tools, instructions 0); whether it is within the budget of 10 cannot be told",
      "      crm: not known, as the catalog lock does not have it: --live reads it",
    ]);
    expect((await checked({ server, budget: true })).code).toBe(1);
  });

  it("do not keep what is known from being too much", async () => {
    const more = { instructions: "x".repeat(100), ...server };
    expect((await checked({ server: more })).code).toBe(1);
  });

  it("are read from the upstream where that is asked for", async () => {
    const upstream = await startScriptedUpstream({ tools: [get, drop] });
    const at = { url: upstream.url, addresses: "loopback" };
    const { code, context } = await checked({ upstream: at, server: { budget: { tokens: whole - 1 } }, live: true });
    await upstream.close();
    expect(context[0]).toContain(`${whole} (2 tools, instructions 0); over the budget`);
    expect(code).toBe(1);
  });

  it("stay so where the upstream does not answer", async () => {
    const upstream = await startScriptedUpstream();
    await upstream.close();
    const at = { url: upstream.url, addresses: "loopback" };
    const { code, context } = await checked({ upstream: at, server, budget: true, live: true });
    expect(context[1]).toMatch(/^ {6}crm: not known, as it could not be read \(UPSTREAM_\w+\)$/);
    expect(code).toBe(1);
  });
});

describe("a server without a budget", () => {
  it("is measured when somebody asks, and fails nothing", async () => {
    const text = await lock();
    expect((await checked({ lock: text })).context).toEqual([]);
    const { code, context } = await checked({ lock: text, budget: true });
    expect([code, context[0]]).toEqual([0, `  support, all that it has: ${whole} (2 tools, instructions 0)`]);
    expect(context).toHaveLength(3);
  });
});
