import type { ItemKind } from "../model/item.ts";
import { isJsonObject, readOwn, type Json, type JsonObject } from "../model/json.ts";

type Shape = (value: Json | undefined) => boolean;

const text: Shape = (value) => value === undefined || typeof value === "string";
const object: Shape = (value) => value === undefined || isJsonObject(value);
const objects: Shape = (value) => value === undefined || (Array.isArray(value) && value.every(isJsonObject));

const common: readonly (readonly [member: string, shape: Shape])[] = [
  ["title", text],
  ["description", text],
  ["_meta", object],
  ["icons", objects],
];

const shapes: Readonly<Record<ItemKind, typeof common>> = {
  tool: [...common, ["inputSchema", isJsonObject], ["outputSchema", object], ["annotations", object]],
  prompt: [...common, ["arguments", objects]],
  resource: [...common, ["mimeType", text], ["annotations", object]],
  template: [...common, ["mimeType", text], ["annotations", object]],
};

/**
 * The first member of a definition whose type is not the one that every revision gives it; undefined when
 * all fit. Clients parse a list as a whole: one such item would take the others of its server with it.
 * Does not check members that no revision knows, what schemas hold, nor the item's name.
 */
export function misshapenMember(kind: ItemKind, definition: JsonObject): string | undefined {
  return shapes[kind].find(([member, fits]) => !fits(readOwn(definition, member)))?.[0];
}
