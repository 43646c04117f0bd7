import type { JsonObject } from "../model/json.ts";
import { readOwnString } from "../model/json.ts";
import type { Principal } from "../model/principal.ts";
import { gradeOf, type Cell } from "../policy/matrix.ts";
import { momentIn } from "../policy/read-cases.ts";
import { at, fault, isMapping, readText, type Place } from "../policy/read-fields.ts";
import { readPrincipal, type PrincipalNames } from "../policy/read-principal.ts";
import { csvLine } from "./csv-line.ts";
import { jsonOut, shown, type ExitCode, type Output } from "./output.ts";
import { openPolicies, type PolicyBundle } from "./policy-bundle.ts";
import { lockedItems, readItems, withLockedDigest, type NamedItem } from "./policy-items.ts";
import type { OrderTo, PolicyDesk } from "./policy.ts";
import { readValueFile } from "./read-value.ts";
import { itemOf, recordedPrincipal } from "./recorded-decision.ts";
import { eachEvent } from "./recorded-events.ts";

interface NamedPrincipal {
  readonly name: string;
  readonly principal: Principal;
}

interface MatrixRow extends Cell {
  readonly who: NamedPrincipal;
  readonly server: string;
  readonly item: NamedItem;
}

type Order = OrderTo<"matrix">;

/**
 * `sallyport policy matrix`: every described person and service against every known item of every server. 0 when it
 * could be told. With evidence each row also says when the principal last used the item; clients are not told apart.
 */
export async function policyMatrix(order: Order, desk: PolicyDesk): Promise<ExitCode> {
  const { config, output, now } = desk;
  const bundle = openPolicies(config, order.policies, output);
  if (bundle === undefined) return 1;
  const moment = order.at === undefined ? now() : momentIn(order.at);
  const people = readValueFile(order.principals, (place, value) => readPeople(place, value, bundle.names), output);
  const items = itemsOf(order, bundle, output);
  if (moment === undefined) output.err("--at takes a time with its zone, as 2026-01-07T12:00:00Z.");
  if (people === undefined || items === undefined || moment === undefined) return 1;
  const rows = Object.keys(config.servers).flatMap((server) =>
    desk
      .shownItems(server, items)
      .flatMap(({ item }) => people.map((who) => rowOf(bundle, { who, server, item, now: moment }))),
  );
  const used = new Map(rows.map(({ who, server: at, item }) => [useKey(who.principal, at, item), never]));
  if (
    order.from !== undefined &&
    !(await eachEvent(order.from, desk, (event) => {
      noteUse(used, event, bundle);
    }))
  )
    return 1;
  print(order, { rows, used: order.from === undefined ? undefined : used }, output);
  return 0;
}

/** A list of descriptions as cases have them, each with a `name` of its own. */
function readPeople(place: Place, value: unknown, names: PrincipalNames): readonly NamedPrincipal[] {
  if (!Array.isArray(value)) {
    fault(place, value, "a list of principals", "expected a list of principals");
    return [];
  }
  return value.flatMap((one: unknown, index) => {
    const here = at(place, index);
    if (!isMapping(one)) {
      fault(here, one, "a principal", "expected a mapping");
      return [];
    }
    const { name: named, ...description } = one;
    const name = readText(at(here, "name"), named, "a name for the reader");
    const principal = readPrincipal(here, description, names);
    return name === undefined || principal === undefined ? [] : [{ name, principal }];
  });
}

function itemsOf({ items }: Order, { lock, names }: PolicyBundle, output: Output): readonly NamedItem[] | undefined {
  if (items !== undefined) {
    const read = readValueFile(items, (place, value) => readItems(place, value, names), output);
    return read?.map((item) => withLockedDigest(lock, item));
  }
  if (lock !== undefined) return lockedItems(lock);
  output.err("No catalog lock is configured, so the items are not known: say --items FILE.");
  return undefined;
}

function rowOf(
  { policy }: PolicyBundle,
  { who, server, item, now }: { who: NamedPrincipal; server: string; item: NamedItem; now: number },
): MatrixRow {
  const request = { now, transport: "http", era: "modern", revision: "2026-07-28" } as const;
  const { upstream, kind, name, digest } = item;
  const subject = { upstream, kind, name, digest };
  const cell = gradeOf(policy, { principal: who.principal, server, item: subject, request });
  return { ...cell, who, server, item };
}

/** Types of events that say that an item was used. */
const uses: ReadonlySet<string> = new Set(["attempted", "returned", "failed", "unknown"]);

const never = "never";

function noteUse(used: Map<string, string>, event: JsonObject, { recordNames }: PolicyBundle): void {
  const [type, when, server] = ["type", "at", "server"].map((key) => readOwnString(event, key));
  const item = itemOf(event);
  const principal = recordedPrincipal(event, recordNames);
  if (!uses.has(type ?? "") || when === undefined || server === undefined) return;
  if (principal === undefined || item === undefined || item === null) return;
  const key = useKey(principal, server, item);
  const last = used.get(key);
  // What no row is about takes no room.
  if (last !== undefined && (last === never || last < when)) used.set(key, when);
}

function useKey(
  { tenant, issuer, subject }: Principal,
  server: string,
  { upstream, kind, name }: Pick<NamedItem, "upstream" | "name"> & { readonly kind: string },
): string {
  return JSON.stringify([tenant, issuer, subject, server, upstream, kind, name]);
}

interface Table {
  readonly rows: readonly MatrixRow[];
  /** Undefined: no evidence was read. */
  readonly used: ReadonlyMap<string, string> | undefined;
}

const columns = ["principal", "server", "upstream", "kind", "item", "grade", "rule", "missing", "lastUsed"] as const;

function print({ csv, json }: Order, { rows, used }: Table, output: Output): void {
  const told = rows.map((row) => fieldsOf(row, used));
  if (json) output.out(jsonOut(told));
  else if (csv)
    for (const line of [columns, ...told.map((fields) => columns.map((column) => fields[column]))])
      output.out(shown(csvLine(line)));
  else printText(rows, told, output);
}

function fieldsOf(
  { who, server, item, grade, rule, missing }: MatrixRow,
  used: Table["used"],
): Record<(typeof columns)[number], string> {
  const { upstream, kind, name } = item;
  const lastUsed = used === undefined ? "" : (used.get(useKey(who.principal, server, item)) ?? never);
  const told = { grade, rule: rule ?? "", missing: missing.join(" "), lastUsed };
  return { principal: who.name, server, upstream, kind, item: name, ...told };
}

/** What is denied is most of it, and said as a number. */
function printText(rows: readonly MatrixRow[], told: readonly ReturnType<typeof fieldsOf>[], output: Output): void {
  for (const fields of told) {
    if (fields.grade === "deny") continue;
    const missing = fields.missing === "" ? "" : `, missing ${fields.missing}`;
    const lastUsed = fields.lastUsed === "" ? "" : `, last used ${fields.lastUsed}`;
    const what = `${fields.kind} ${fields.item} of ${fields.upstream} at ${fields.server}`;
    output.out(shown(`${fields.principal}: ${fields.grade} ${what} by ${fields.rule}${missing}${lastUsed}`));
  }
  const denied = rows.filter(({ grade }) => grade === "deny").length;
  output.out(`${rows.length} cells, of which ${denied} are denied`);
}
