import { describe, expect, it } from "vitest";
import { anonymousPrincipal } from "../../src/auth/anonymous.ts";
import { withInput, type Entry } from "../../src/catalog/table.ts";
import { createViews, type View, type ViewRequest } from "../../src/catalog/views.ts";
import { refuse } from "../../src/model/refusal.ts";
import { itemOf, partOf, tableOf, toolOf } from "./parts.ts";

const table = tableOf(
  [partOf("a")],
  [toolOf("a", "kept"), toolOf("a", "shaped"), toolOf("a", "gone"), itemOf("a", "template", "a://{id}")],
);

const narrower = { type: "object", properties: {} };
const unfit = refuse("CATALOG_ITEM_UNSAFE", { fault: "its shape" }).refusal;

function viewOf(more: Partial<ViewRequest>): View {
  const views = createViews({ viewsMax: 10, viewAgeMsMax: 1_000, now: () => 0 });
  return views.of({ table, principal: anonymousPrincipal, policy: "p", revision: "r", visible: () => true, ...more });
}

/** Changes the entry of that name, and leaves the others as they are. */
function only(name: string, change: (entry: Entry) => Entry | undefined): ViewRequest["present"] {
  return (entry) => (entry.exposed === name ? change(entry) : entry);
}

const names = (entries: Iterable<Entry>): string[] => [...entries].map(({ exposed }) => exposed);

describe("an entry that is another for a principal", () => {
  const view = viewOf({ present: only("shaped", (entry) => withInput(entry, narrower)) });
  const [found] = view.byName.tool.get("shaped") ?? [];

  it("is the one that its lists, its lookups and its set of the visible have", () => {
    expect(found?.shown["inputSchema"]).toEqual(narrower);
    expect(found?.shownInput?.schema).toEqual(narrower);
    expect(view.byName.tool.get("shaped")).toHaveLength(1);
    expect(found !== undefined && view.visible.has(found)).toBe(true);
    expect(view.visibleBy.tool.find(({ exposed }) => exposed === "shaped")).toBe(found);
  });

  it("is judged by another schema, and keeps the upstream's own", () => {
    const [before] = table.byName.tool.get("shaped") ?? [];
    expect(found?.shownInput?.digest).not.toBe(before?.shownInput?.digest);
    expect(found?.ownInput).toEqual(before?.ownInput);
    expect(found?.item).toBe(before?.item);
  });

  it("leaves the others, their order and the templates as they were", () => {
    expect(names(view.visibleBy.tool)).toEqual(["kept", "shaped", "gone"]);
    expect(names(view.templates)).toEqual(["a://{id}"]);
    expect(view.byName.tool.get("kept")).toEqual(table.byName.tool.get("kept"));
  });
});

describe("an entry that is not there for a principal", () => {
  it("is not visible, and still known by its name, so that evidence tells hidden from unknown", () => {
    const view = viewOf({ present: only("gone", () => undefined) });
    expect(names(view.visibleBy.tool)).toEqual(["kept", "shaped"]);
    expect(view.byName.tool.get("gone")?.some((entry) => view.visible.has(entry))).toBe(false);
    expect(view.byName.tool.get("gone")).toHaveLength(1);
  });

  it("is not visible and tells why, where it is withheld", () => {
    const view = viewOf({ present: only("gone", (entry) => ({ ...entry, withheld: unfit })) });
    expect(names(view.visibleBy.tool)).toEqual(["kept", "shaped"]);
    expect(view.byName.tool.get("gone")?.[0]?.withheld).toBe(unfit);
  });

  it("is not asked about when it is hidden or withheld already", () => {
    const asked: string[] = [];
    const present = (entry: Entry): Entry => {
      asked.push(entry.exposed);
      return entry;
    };
    viewOf({ visible: ({ exposed }) => exposed === "kept", present });
    expect(asked).toEqual(["kept"]);
  });
});

describe("two entries that have one name for a principal", () => {
  it("collide, as they would in the table", () => {
    const view = viewOf({ present: only("shaped", (entry) => ({ ...entry, exposed: "kept" })) });
    expect(names(view.collided)).toEqual(["kept", "kept"]);
    expect(names(view.visibleBy.tool)).toEqual(["gone"]);
  });
});

describe("a view in which nothing is another", () => {
  it("looks up what the table looks up", () => {
    expect(viewOf({ present: (entry) => entry }).byName).toBe(table.byName);
    expect(viewOf({}).byName).toBe(table.byName);
  });
});
