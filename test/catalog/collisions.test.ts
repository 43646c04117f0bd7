import { describe, expect, it } from "vitest";
import type { CatalogItem } from "../../src/catalog/fetch-upstream.ts";
import type { UpstreamPart } from "../../src/catalog/shape.ts";
import { colliding, type Entry, type ServerTable } from "../../src/catalog/table.ts";
import { createViews } from "../../src/catalog/views.ts";
import { anonymousPrincipal } from "../../src/auth/anonymous.ts";
import type { JsonObject } from "../../src/model/json.ts";
import { partOf, tableOf, toolOf } from "./parts.ts";

function tool(upstream: string, name: string, inputSchema: JsonObject = { type: "object" }): CatalogItem {
  return toolOf(upstream, name, { inputSchema });
}

const part = (upstream: string, prefix = ""): UpstreamPart => partOf(upstream, { prefix });

function visibleTo(of: ServerTable, sees: (entry: Entry) => boolean): { visible: string[]; collided: string[] } {
  const views = createViews({ viewsMax: 10, viewAgeMsMax: 1_000, now: () => 0 });
  const view = views.of({ table: of, principal: anonymousPrincipal, policy: "p", revision: "r", visible: sees });
  const names = (entries: ReadonlySet<Entry>): string[] =>
    [...entries].map(({ item }) => `${item.upstream}.${item.name}`);
  return { visible: names(view.visible), collided: names(view.collided) };
}

describe("two items under one name", () => {
  const both = tableOf([part("a"), part("b")], [tool("a", "search"), tool("b", "search"), tool("b", "other")]);

  it("are both withheld from whoever would see both", () => {
    expect(visibleTo(both, () => true)).toEqual({ visible: ["b.other"], collided: ["a.search", "b.search"] });
  });

  it("take nothing from whoever may see one of them alone", () => {
    const sees = ({ item }: Entry): boolean => item.upstream === "b";
    expect(visibleTo(both, sees)).toEqual({ visible: ["b.search", "b.other"], collided: [] });
  });

  it("are what a start refuses, whoever may see them", () => {
    expect(colliding(both.entries).map(({ item }) => item.upstream)).toEqual(["a", "b"]);
  });

  it("no longer collide under a prefix, nor do a{b_c} and a_b{c} under theirs", () => {
    expect(
      colliding(tableOf([part("a", "a_"), part("b")], [tool("a", "search"), tool("b", "search")]).entries),
    ).toEqual([]);
    const twins = tableOf([part("a", "a_"), part("a-b", "a_b_")], [tool("a", "b_c"), tool("a-b", "c")]);
    expect(colliding(twins.entries).map(({ exposed }) => exposed)).toEqual(["a_b_c", "a_b_c"]);
  });
});

describe("a tool's input schema", () => {
  it.each([
    ["without a type says object", {}, { type: "object" }],
    ["keeps what else it says", { properties: {} }, { type: "object", properties: {} }],
    ["that says a type is shown as it is", { type: "object", x: 1 }, { type: "object", x: 1 }],
  ])("%s", (_law, schema, shown) => {
    const [entry] = tableOf([part("a")], [tool("a", "t", schema)]).entries;
    expect(entry?.shown["inputSchema"]).toEqual(shown);
  });
});
