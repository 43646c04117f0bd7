import { beforeEach, describe, expect, it } from "vitest";
import { createCatalog } from "../../src/catalog/catalog.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { fetchUpstream } from "../../src/catalog/fetch-upstream.ts";
import { createPersonalCatalogs } from "../../src/catalog/personal.ts";
import type { Reader } from "../../src/catalog/personal.ts";
import type { DefinitionSource } from "../../src/catalog/port.ts";
import { createSnapshots } from "../../src/catalog/snapshots.ts";
import type { ServerTable } from "../../src/catalog/table.ts";
import { createViews } from "../../src/catalog/views.ts";
import { limits } from "../../src/model/limits.ts";
import { principalKey } from "../../src/model/principal.ts";
import { refuse } from "../../src/model/refusal.ts";
import { ok } from "../../src/model/result.ts";
import { cleanDefinition } from "../../src/sanitize/clean-definition.ts";
import { principal } from "../policy/given.ts";
import { partOf } from "./parts.ts";

let now = 0;
let reads: string[] = [];

beforeEach(() => {
  now = 1_000_000;
  reads = [];
});

/** An upstream as one account sees it: the tools that it lists; none: the account is not connected. */
function seenBy(name: string, tools: () => readonly string[] | undefined): DefinitionSource {
  return {
    identify: (upstream) => {
      reads.push(`${name} at ${upstream}`);
      if (tools() === undefined)
        return Promise.resolve(refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream, reason: "not-connected" }));
      return Promise.resolve(ok({ era: "modern", capabilities: { tools: {} }, instructions: undefined }));
    },
    page: () => {
      const definitions = (tools() ?? []).map((tool) => ({ name: tool, inputSchema: { type: "object" } }));
      return Promise.resolve(ok({ definitions, nextCursor: undefined, bytes: 10 }));
    },
  };
}

function reader(subject: string, tools: () => readonly string[] | undefined, clientId = "desktop"): Reader {
  const key = principalKey({ ...principal(), subject, clientId });
  return { key, principalKey: key, source: seenBy(subject, tools) };
}

/** A server of one upstream that is the same for everybody, and one that is read for each. */
function catalog(of: { readonly shared?: readonly string[]; readonly personalCatalogsMax?: number } = {}): Catalog {
  const bounds = { ...limits, ...(of.personalCatalogsMax === undefined ? {} : of) } as typeof limits;
  const common = { now: () => now, bounds };
  const gateway = seenBy("gateway", () => of.shared ?? ["shared"]);
  const read = (source: () => DefinitionSource) => (upstream: string, signal: AbortSignal) =>
    fetchUpstream(upstream, { source: source(), clean: cleanDefinition, bounds: limits }, signal);
  return createCatalog({
    servers: [{ name: "s", upstreams: [partOf("common"), partOf("own")], presentations: [] }],
    snapshots: createSnapshots({ ...common, read: read(() => gateway) }),
    changes: { onChange: () => undefined },
    personal: createPersonalCatalogs({
      ...common,
      open: (source, onReading) => createSnapshots({ ...common, read: read(source), onReading }),
    }),
    isPersonal: (upstream) => upstream === "own",
    ageMsMax: bounds.catalogAgeMsMax,
  });
}

async function toolsOf(at: Catalog, who?: Reader): Promise<readonly string[]> {
  return (await at.table("s", who)).entries.map(({ exposed }) => exposed);
}

describe("an upstream that lists to each person what they may use", () => {
  it("shows nobody what another is shown, beside what is the same for everybody", async () => {
    const at = catalog();
    const [ada, bob] = [reader("ada", () => ["a"]), reader("bob", () => ["b"])];
    expect(await toolsOf(at, ada)).toEqual(["shared", "a"]);
    expect(await toolsOf(at, bob)).toEqual(["shared", "b"]);
    expect(await toolsOf(at, ada)).toEqual(["shared", "a"]);
    expect(reads).toEqual(["gateway at common", "ada at own", "bob at own"]);
  });

  it("is read for each client of a person, as each has a consent of its own", async () => {
    const at = catalog();
    await toolsOf(
      at,
      reader("ada", () => ["a"]),
    );
    expect(
      await toolsOf(
        at,
        reader("ada", () => undefined, "phone"),
      ),
    ).toEqual(["shared", "connect_own"]);
  });

  it("has one tool of the gateway's in its place for whoever has not connected it", async () => {
    const table = await catalog().table(
      "s",
      reader("ada", () => undefined),
    );
    expect([table.unconnected, table.missing]).toEqual([["own"], []]);
    const [tool] = table.entries.filter(({ connects }) => connects);
    expect(tool?.shown).toMatchObject({
      name: "connect_own",
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
    });
    expect(tool?.item).toMatchObject({ upstream: "own", kind: "tool", name: "connect_own" });
  });

  it("is in the table for nobody by its name alone", async () => {
    const table = await catalog().table("s");
    expect([table.entries.map(({ exposed }) => exposed), table.unconnected]).toEqual([["shared"], ["own"]]);
    expect(reads).toEqual(["gateway at common"]);
  });

  it("is shown as soon as its person has connected it", async () => {
    const at = catalog();
    let tools: readonly string[] | undefined = undefined;
    const ada = reader("ada", () => tools);
    expect(await toolsOf(at, ada)).toEqual(["shared", "connect_own"]);
    tools = ["a"];
    at.personal.forget({ ...principal(), subject: "ada" });
    expect(await toolsOf(at, ada)).toEqual(["shared", "a"]);
  });

  it("is shown no more, however young its lists are, once a reading finds the connection gone", async () => {
    const at = catalog();
    let tools: readonly string[] | undefined = ["a"];
    const ada = reader("ada", () => tools);
    await toolsOf(at, ada);
    tools = undefined;
    now += limits.catalogAgeMsMax + 1;
    // What is known serves while it is read anew.
    await toolsOf(at, ada);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await toolsOf(at, ada)).toEqual(["shared", "connect_own"]);
  });

  it("is read with the token that its person brought last", async () => {
    const at = catalog();
    const first = reader("ada", () => ["old"]);
    await toolsOf(at, first);
    now += limits.catalogAgeMsMax + 1;
    await toolsOf(at, { ...first, source: seenBy("ada again", () => ["new"]) });
    await new Promise((resolve) => setImmediate(resolve));
    expect(reads.at(-1)).toBe("ada again at own");
  });
});

describe("lists of single persons", () => {
  it("are kept of so many, and those of whoever was not there for longest go first", async () => {
    const at = catalog({ personalCatalogsMax: 2 });
    const people = ["ada", "bob", "cleo"].map((name) => reader(name, () => [name]));
    const [ada, bob, cleo] = people;
    for (const one of [ada, bob, ada, cleo]) await toolsOf(at, one);
    reads = [];
    await toolsOf(at, ada);
    expect(reads).toEqual([]);
    await toolsOf(at, bob);
    expect(reads).toEqual(["bob at own"]);
  });

  it("go with the age at which no list is shown any more, when others come", async () => {
    const at = catalog();
    const ada = reader("ada", () => ["a"]);
    await toolsOf(at, ada);
    now += limits.catalogStaleMsMax + 1;
    await toolsOf(
      at,
      reader("bob", () => ["b"]),
    );
    reads = [];
    await toolsOf(at, ada);
    expect(reads).toContain("ada at own");
  });

  it("are told of to the streams of every client of their person, and to nobody else's", async () => {
    const at = catalog();
    const heard: string[] = [];
    const keyOf = (subject: string, clientId = "desktop"): string =>
      principalKey({ ...principal(), subject, clientId });
    at.personal.follow(keyOf("ada"), () => heard.push("ada"));
    at.personal.follow(keyOf("ada", "phone"), () => heard.push("ada's phone"));
    const unfollow = at.personal.follow(keyOf("bob"), () => heard.push("bob"));
    at.personal.forget({ ...principal(), subject: "ada" });
    expect(heard).toEqual(["ada", "ada's phone"]);
    at.personal.forget({ ...principal(), subject: "bob" });
    unfollow();
    at.personal.forget({ ...principal(), subject: "bob" });
    expect(heard).toEqual(["ada", "ada's phone", "bob"]);
    await toolsOf(
      at,
      reader("ada", () => ["a"]),
    );
    expect(heard.slice(3)).toEqual(["ada"]);
  });
});

describe("the gateway's own tool", () => {
  const seen = (table: ServerTable): readonly [boolean, string][] => {
    const views = createViews({ viewsMax: 10, viewAgeMsMax: 60_000, now: () => now });
    const view = views.of({ table, principal: principal(), policy: "p", revision: "r", visible: () => true });
    return view.visibleBy.tool.map(({ connects, exposed }) => [connects, exposed]);
  };

  it("keeps its name where an upstream lists a tool of the same, which is withheld meanwhile", async () => {
    const at = catalog({ shared: ["connect_own", "shared"] });
    expect(
      seen(
        await at.table(
          "s",
          reader("ada", () => undefined),
        ),
      ),
    ).toEqual([
      [false, "shared"],
      [true, "connect_own"],
    ]);
    expect(
      seen(
        await at.table(
          "s",
          reader("bob", () => ["b"]),
        ),
      ),
    ).toEqual([
      [false, "connect_own"],
      [false, "shared"],
      [false, "b"],
    ]);
  });
});
