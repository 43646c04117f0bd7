import type { JsonObject } from "../model/json.ts";
import type { NameRules } from "../model/shown-name.ts";
import { digestOf } from "../protocol/json/canonical.ts";
import { fitName } from "./names.ts";
import type { Entry } from "./table.ts";

/**
 * The gateway's own tool in the place of an upstream's items, for somebody who has not connected it: calling it leads
 * to the page. It takes no arguments, has no prefix and no other name, and goes before whatever else has its name, so
 * that no upstream takes the way to another from anybody by listing it.
 */
export function connectEntry(upstream: string, names: NameRules): Entry {
  const own = `connect_${upstream}`;
  const name = fitName(own, { upstream, kind: "tool", name: own }, names);
  const inputSchema: JsonObject = { type: "object", properties: {}, additionalProperties: false };
  const definition: JsonObject = {
    name,
    title: `Connect ${upstream}`,
    description: `Connects ${upstream} to the user's own account there. Until then its tools are not listed. Call this when they are needed; the user has to open the page that it names.`,
    inputSchema,
  };
  const item = { upstream, kind: "tool", name, definition, digest: digestOf(definition) } as const;
  return {
    item,
    exposed: name,
    shown: definition,
    connects: true,
    withheld: undefined,
    simplifies: false,
    shownInput: { digest: digestOf(inputSchema), schema: inputSchema },
    ownInput: inputSchema,
    output: undefined,
    paramHeaders: undefined,
    matches: undefined,
    shaped: undefined,
  };
}
