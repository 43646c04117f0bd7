import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/catalog/table.ts";
import type { View } from "../../../src/catalog/views.ts";
import { compareViews, signatureOf } from "../../../src/gateway/streams/view-signature.ts";
import type { ItemKind } from "../../../src/model/item.ts";
import type { JsonObject } from "../../../src/model/json.ts";

type Shown = readonly [kind: ItemKind, exposed: string, digest: string, upstream?: string, shown?: JsonObject];

function view(shown: readonly Shown[], missing: readonly string[] = []): View {
  const visible = new Set(
    shown.map(
      ([kind, exposed, digest, upstream = "a", shown = { name: exposed }]) =>
        ({ exposed, shown, item: { upstream, kind, name: exposed, digest } }) as Entry,
    ),
  );
  const table = { missing: missing.map((upstream) => ({ upstream })) };
  return { visible, table } as unknown as View;
}

const before: readonly Shown[] = [
  ["tool", "one", "1"],
  ["tool", "two", "2"],
  ["resource", "r", "3"],
  ["prompt", "p", "4", "b"],
];

describe("which lists of a view changed", () => {
  const rows: readonly (readonly [string, readonly Shown[], readonly string[], readonly string[]])[] = [
    ["nothing", before, [], []],
    ["another order", [...before].reverse(), [], []],
    ["a tool more", [...before, ["tool", "three", "9"]], [], ["tools"]],
    ["a tool less", before.slice(1), [], ["tools"]],
    ["a tool under another name", [["tool", "uno", "1"], ...before.slice(1)], [], ["tools"]],
    ["another definition under a name", [["tool", "one", "8"], ...before.slice(1)], [], ["tools"]],
    [
      "a tool shown otherwise, its definition being the same",
      [["tool", "one", "1", "a", { name: "one", inputSchema: {} }], ...before.slice(1)],
      [],
      ["tools"],
    ],
    [
      "a prompt that asks for less",
      [...before.slice(0, 3), ["prompt", "p", "4", "b", { name: "p", arguments: [] }]],
      [],
      ["prompts"],
    ],
    ["a first template", [...before, ["template", "r", "3"]], [], ["resources"]],
    [
      "a resource that became a template",
      [...before.slice(0, 2), ["template", "r", "3"], before[3] ?? before[0]] as Shown[],
      [],
      ["resources"],
    ],
    ["the last prompt gone", before.slice(0, 3), [], ["prompts"]],
    ["everything gone", [], [], ["tools", "prompts", "resources"]],
    ["an upstream that cannot be read", before.slice(0, 3), ["b"], []],
    ["another that can, changed, meanwhile", before.slice(1, 3), ["b"], ["tools"]],
  ];
  it.each(rows)("%s", (_, after, missing, changed) => {
    expect(compareViews(signatureOf(view(before)), view(after, missing)).changed).toEqual(changed);
  });

  it("an upstream that comes back as it was changed nothing, and as another, what is other", () => {
    const { now } = compareViews(signatureOf(view(before)), view(before.slice(0, 3), ["b"]));
    expect(compareViews(now, view(before)).changed).toEqual([]);
    expect(compareViews(now, view([...before.slice(0, 3), ["prompt", "p", "5", "b"]])).changed).toEqual(["prompts"]);
  });
});
