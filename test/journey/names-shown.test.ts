import { afterEach, describe, expect, it } from "vitest";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListingUpstream, used } from "./listing-upstream.ts";
import { legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";

const upstreams: ScriptedUpstream[] = [];
const gateways: GatewayUnderTest[] = [];

afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.remove();
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

const tool = (name: string): Loose => ({ name, inputSchema: { type: "object" } });

async function startUpstream(...tools: readonly Loose[]): Promise<ScriptedUpstream> {
  const upstream = await startListingUpstream({ tools });
  upstreams.push(upstream);
  return upstream;
}

interface Setting {
  readonly upstreams: Readonly<Record<string, string | Loose>>;
  readonly servers: Loose;
  readonly more?: Loose;
  readonly rules?: readonly Loose[];
}

async function start(of: Setting): Promise<GatewayUnderTest> {
  const gateway = await startGatewayUnderTest({
    upstreams: of.upstreams,
    servers: {},
    config: { servers: of.servers, ...of.more },
    ...(of.rules === undefined ? {} : { rules: of.rules }),
  });
  gateways.push(gateway);
  return gateway;
}

async function toolsAt(gateway: GatewayUnderTest, server: string): Promise<readonly Loose[]> {
  const { json } = await modernCall({ gateway, server }, "tools/list");
  return (json["result"] as Loose)["tools"] as readonly Loose[];
}

async function namesAt(gateway: GatewayUnderTest, server: string): Promise<readonly string[]> {
  return (await toolsAt(gateway, server)).map(({ name }) => String(name));
}

const twins = ["x", "y"].map(
  (end) => "search_the_archive_of_all_documents_by_author_title_and_year".padEnd(79, "_") + end,
);
const odd = ["search files", "files/search", "files.search", "3d", ...twins];

describe("tools whose names model providers would refuse", () => {
  it("are shown under names that they take, the same at every replica and in every order", async () => {
    const [one, other] = [await startUpstream(...odd.map(tool)), await startUpstream(...odd.toReversed().map(tool))];
    const servers = { s: { upstreams: { crm: { prefix: "crm_" } } } };
    const first = await start({ upstreams: { crm: one.url }, servers });
    const second = await start({ upstreams: { crm: other.url }, servers });
    const names = await namesAt(first, "s");
    expect(new Set(names).size).toBe(odd.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    expect(names.slice(0, 4)).toEqual([
      expect.stringMatching(/^crm_search_files_[0-9a-z]{8}$/),
      expect.stringMatching(/^crm_files_search_[0-9a-z]{8}$/),
      expect.stringMatching(/^crm_files_search_[0-9a-z]{8}$/),
      "crm_3d",
    ]);
    expect((await namesAt(second, "s")).toReversed()).toEqual(names);
  });

  it("are called by them, from clients of both eras, and the upstream is sent its own", async () => {
    const upstream = await startUpstream(...odd.map(tool));
    const gateway = await start({ upstreams: { crm: upstream.url }, servers: { s: { upstreams: { crm: {} } } } });
    const caller = { gateway, server: "s" };
    const legacy = await openSession(caller);
    for (const name of await namesAt(gateway, "s")) {
      await modernCall(caller, "tools/call", { name, arguments: {} });
      await legacyCall(legacy, "tools/call", { name, arguments: {} });
    }
    expect(used(upstream)).toEqual(odd.flatMap((name) => [1, 2].map(() => ["tools/call", name, name])));
  });

  it("are judged by rules under their own, and what they are called otherwise is nothing", async () => {
    const upstream = await startUpstream(...odd.map(tool));
    const gateway = await start({
      upstreams: { crm: upstream.url },
      servers: { s: { upstreams: { crm: {} } } },
      rules: [{ id: "one", effect: "allow", who: { anyone: true }, what: { upstream: "crm", tool: "search files" } }],
    });
    const [name = ""] = await namesAt(gateway, "s");
    expect(name).toMatch(/^search_files_/);
    expect(refusalIn(await modernCall({ gateway, server: "s" }, "tools/call", { name, arguments: {} })).code).toBe("");
    for (const other of ["search files", "search_files", twins[0] ?? ""])
      await modernCall({ gateway, server: "s" }, "tools/call", { name: other, arguments: {} });
    expect(used(upstream)).toHaveLength(1);
  });

  it("keep what fits where an operator lets names be longer, or have the protocol's characters", async () => {
    const upstream = await startUpstream(...odd.map(tool));
    const gateway = await start({
      upstreams: { crm: upstream.url },
      servers: {
        long: { upstreams: { crm: {} }, names: { maxChars: 128 } },
        dotted: { upstreams: { crm: {} }, names: { characters: "protocol" } },
      },
      more: { names: { maxChars: 70 } },
    });
    expect((await namesAt(gateway, "long")).slice(4)).toEqual(twins);
    const dotted = await namesAt(gateway, "dotted");
    expect(dotted).toContain("files.search");
    expect(dotted).toContain("3d");
    for (const name of dotted.slice(4)) expect(name).toHaveLength(70);
  });

  it("collide where an upstream calls another tool what the gateway calls one, and both are withheld", async () => {
    const first = await startUpstream(tool("search files"));
    const servers = { s: { upstreams: { crm: {} } } };
    const [alias = ""] = await namesAt(await start({ upstreams: { crm: first.url }, servers }), "s");
    const second = await startUpstream(tool("search files"), tool(alias), tool("other"));
    const gateway = start({ upstreams: { crm: second.url }, servers });
    await expect(gateway).rejects.toThrow(alias);
  });
});

describe("one upstream at several servers", () => {
  it("has at each the names, the words and the items that this one gives it", async () => {
    const upstream = await startUpstream(tool("get"), tool("drop"));
    const gateway = await start({
      upstreams: { crm: upstream.url },
      servers: {
        one: { instructions: "Words of one.", upstreams: { crm: { prefix: "one_" } } },
        two: {
          instructions: "Words of two.",
          upstreams: { crm: { rename: { tools: { get: "one_drop" } }, hide: { tools: ["drop"] } } },
        },
      },
    });
    expect(await namesAt(gateway, "one")).toEqual(["one_get", "one_drop"]);
    expect(await namesAt(gateway, "two")).toEqual(["one_drop"]);
    for (const server of ["one", "two"]) {
      await modernCall({ gateway, server }, "tools/call", { name: "one_drop", arguments: {} });
      const { json } = await modernCall({ gateway, server }, "server/discover");
      expect((json["result"] as Loose)["instructions"]).toBe(`Words of ${server}.`);
    }
    expect(used(upstream).map(([, name]) => name)).toEqual(["drop", "get"]);
  });

  it("is an error at each and an empty list at none while it cannot be read", async () => {
    const upstream = await startUpstream(tool("get"));
    await upstream.close();
    const presentations = [{ id: "all", who: { anyone: true }, rename: { crm: { tools: { get: "look" } } } }];
    const gateway = await start({
      upstreams: { crm: upstream.url },
      servers: { one: { upstreams: { crm: {} } }, two: { upstreams: { crm: {} }, presentations } },
    });
    for (const server of ["one", "two"])
      expect(refusalIn(await modernCall({ gateway, server }, "tools/list")).code).toBe("CATALOG_UNAVAILABLE");
  });
});

describe("a presentation under which two items have one name", () => {
  it("is refused at the start, naming the presentation", async () => {
    const upstream = await startUpstream(tool("get"), tool("drop"));
    const presentations = [{ id: "mixed", who: { anyone: true }, rename: { crm: { tools: { get: "drop" } } } }];
    const gateway = start({
      upstreams: { crm: upstream.url },
      servers: { s: { upstreams: { crm: {} }, presentations } },
    });
    await expect(gateway).rejects.toThrow(/servers\.s, shown as mixed: tool drop/);
  });

  it("is for somebody whom policies cannot name is refused too", async () => {
    const upstream = await startUpstream(tool("get"));
    const presentations = [{ id: "a", who: { groups: ["nobody:x"] } }];
    const gateway = start({
      upstreams: { crm: upstream.url },
      servers: { s: { upstreams: { crm: {} }, presentations } },
    });
    await expect(gateway).rejects.toThrow(/servers\.s\.presentations\[0\]\.who/);
  });
});

describe("what the operator says of items", () => {
  const notes = [
    { tool: ["get", "list_*"], labels: ["safe"], annotations: { readOnly: true, destructive: false } },
    { tool: ["drop"], labels: ["harmful"], title: "Drop for good" },
  ];
  const boast = { ...tool("drop"), annotations: { readOnlyHint: true, title: "Harmless" } };

  it("is what rules go by, and what the upstream says is not", async () => {
    const upstream = await startUpstream(tool("get"), boast, tool("list_all"));
    const gateway = await start({
      upstreams: { crm: { url: upstream.url, items: notes } },
      servers: { s: { upstreams: { crm: {} } } },
      rules: [
        {
          id: "reads",
          effect: "allow",
          who: { anyone: true },
          what: { upstream: "crm", annotations: { readOnly: true } },
        },
        { id: "harm", effect: "deny", who: { anyone: true }, what: { upstream: "crm", labels: ["harmful"] } },
      ],
    });
    expect(await namesAt(gateway, "s")).toEqual(["get", "list_all"]);
    await modernCall({ gateway, server: "s" }, "tools/call", { name: "drop", arguments: {} });
    expect(used(upstream)).toEqual([]);
  });

  it("is shown in place of what the upstream says, hint by hint", async () => {
    const own = { ...tool("get"), annotations: { readOnlyHint: false, openWorldHint: true, title: "Get" } };
    const upstream = await startUpstream(own, boast);
    const gateway = await start({
      upstreams: { crm: { url: upstream.url, items: notes } },
      servers: { s: { upstreams: { crm: {} } } },
    });
    const [get, drop] = await toolsAt(gateway, "s");
    expect(get?.["annotations"]).toEqual({
      readOnlyHint: true,
      destructiveHint: false,
      openWorldHint: true,
      title: "Get",
    });
    expect(drop).toMatchObject({ title: "Drop for good", annotations: { readOnlyHint: true, title: "Harmless" } });
  });

  it("of a label that nothing has is refused in a rule", async () => {
    const upstream = await startUpstream(tool("get"));
    const gateway = start({
      upstreams: { crm: { url: upstream.url, items: notes } },
      servers: { s: { upstreams: { crm: {} } } },
      rules: [{ id: "a", effect: "deny", who: { anyone: true }, what: { upstream: "crm", labels: ["harmfull"] } }],
    });
    await expect(gateway).rejects.toThrow(/harmfull/);
  });
});

describe("schemas that are shown flat", () => {
  const inputSchema = {
    type: "object",
    properties: { id: { type: "string" }, name: { type: "string" } },
    oneOf: [{ required: ["id"] }, { required: ["name"] }],
  };

  it("take more than the tool does, which is then told so, and never called", async () => {
    const upstream = await startUpstream({ name: "find", inputSchema });
    const gateway = await start({
      upstreams: { crm: upstream.url },
      servers: {
        flat: { upstreams: { crm: {} }, schemas: { simplify: true } },
        plain: { upstreams: { crm: {} } },
      },
    });
    const { oneOf, ...flat } = inputSchema;
    expect((await toolsAt(gateway, "flat"))[0]?.["inputSchema"]).toEqual(flat);
    expect((await toolsAt(gateway, "plain"))[0]?.["inputSchema"]).toEqual({ ...flat, oneOf });
    const caller = { gateway, server: "flat" };
    const legacy = await openSession(caller);
    const call = { name: "find", arguments: { id: "1", name: "a" } };
    for (const refused of [
      await modernCall(caller, "tools/call", call),
      await legacyCall(legacy, "tools/call", call),
    ]) {
      expect(refusalIn(refused).code).toBe("ARGUMENTS_INVALID");
      expect(refused.text).toMatch(/oneOf|exactly one/);
    }
    expect(used(upstream)).toEqual([]);
    expect(refusalIn(await modernCall(caller, "tools/call", { ...call, arguments: { id: "1" } })).code).toBe("");
    expect(used(upstream)).toHaveLength(1);
  });

  it.each(["enforce", "warn", "off"])("hold a tool to its own, though its upstream is held by %s", async (mode) => {
    const honest = { name: "get", inputSchema: { type: "object", properties: { id: { type: "string" } } } };
    const upstream = await startUpstream({ name: "find", inputSchema }, { ...honest });
    const gateway = await start({
      upstreams: { crm: { url: upstream.url, schema: { arguments: mode } } },
      servers: { flat: { upstreams: { crm: {} }, schemas: { simplify: true } }, plain: { upstreams: { crm: {} } } },
    });
    const unfit = { find: { id: "1", name: "a" }, get: { id: 1 } };
    const refusedAt = async (server: string, name: keyof typeof unfit): Promise<string> =>
      refusalIn(await modernCall({ gateway, server }, "tools/call", { name, arguments: unfit[name] })).code;
    const chosen = mode === "enforce" ? "ARGUMENTS_INVALID" : "";
    expect(await refusedAt("flat", "find")).toBe("ARGUMENTS_INVALID");
    expect(used(upstream)).toEqual([]);
    // What is shown as it is is held as the operator chose.
    expect(await refusedAt("flat", "get")).toBe(chosen);
    expect(await refusedAt("plain", "find")).toBe(chosen);
  });

  it.each(["enforce", "warn", "off"])("hold what policy presets to the tool's own (%s)", async (mode) => {
    const upstream = await startUpstream({ name: "find", inputSchema });
    const gateway = await start({
      upstreams: { crm: { url: upstream.url, schema: { arguments: mode } } },
      servers: { flat: { upstreams: { crm: {} }, schemas: { simplify: true } } },
      rules: [
        { id: "all", effect: "allow", who: { anyone: true }, what: { upstream: "crm" } },
        {
          ...{ id: "own", effect: "constrain", who: { anyone: true }, what: { upstream: "crm", tool: "find" } },
          presets: { id: "1" },
        },
      ],
    });
    const call = { name: "find", arguments: { name: "a" } };
    const refused = refusalIn(await modernCall({ gateway, server: "flat" }, "tools/call", call)).code;
    expect(refused).toMatch(/^(ARGUMENTS_INVALID|PRESET_UNFIT)$/);
    expect(used(upstream)).toEqual([]);
  });
});
