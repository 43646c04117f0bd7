import { readOwn, readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { Item, ItemKind } from "../model/item.ts";
import type { Finding } from "../model/finding.ts";
import { ok, type Result } from "../model/result.ts";
import { refuse, type Refusal } from "../model/refusal.ts";
import { digestOf } from "../protocol/json/canonical.ts";
import type { CleanDefinition, DefinitionSource, UpstreamSelf } from "./port.ts";
import { withoutHopMeta } from "../protocol/hop-meta.ts";
import { misshapenMember } from "./definition-shape.ts";

/** An item with what may be shown of it. `withheld` says why it may not be shown at all. */
export interface CatalogItem extends Item {
  readonly shown: JsonObject;
  readonly findings: readonly Finding[];
  readonly withheld: Refusal | undefined;
  /** The other definitions under which the same list has it, the newest last; absent where it is listed once. */
  readonly twins?: readonly DigestedDefinition[];
}

export interface DigestedDefinition {
  readonly definition: JsonObject;
  /** SHA-256 (hex) over RFC 8785 of `definition`. */
  readonly digest: string;
}

/** Every definition under which its list has the item: which of them a call meets, nobody knows. */
export function definitionsOf({ definition, digest, twins = [] }: CatalogItem): readonly DigestedDefinition[] {
  return [...twins, { definition, digest }];
}

export interface UpstreamCatalog {
  readonly self: UpstreamSelf;
  readonly items: readonly CatalogItem[];
}

export interface FetchBounds {
  readonly listPagesMax: number;
  readonly itemsPerUpstreamMax: number;
  readonly listBytesMax: number;
}

const kinds: readonly { kind: ItemKind; capability: string; nameKey: string }[] = [
  { kind: "tool", capability: "tools", nameKey: "name" },
  { kind: "prompt", capability: "prompts", nameKey: "name" },
  { kind: "resource", capability: "resources", nameKey: "uri" },
  { kind: "template", capability: "resources", nameKey: "uriTemplate" },
];

/**
 * Reads every list of an upstream to its end. All or nothing: a page that cannot be had refuses the
 * whole, so that a partial list is never taken for the truth. A kind whose capability the upstream
 * does not declare is not asked for. A repeated cursor ends in UPSTREAM_ANSWER_INVALID.
 */
export async function fetchUpstream(
  upstream: string,
  deps: { source: DefinitionSource; clean: CleanDefinition; bounds: FetchBounds },
  signal: AbortSignal,
): Promise<Result<UpstreamCatalog>> {
  const self = await deps.source.identify(upstream, signal);
  if (!self.ok) return self;
  const items = new Map<string, CatalogItem>();
  for (const { kind, capability, nameKey } of kinds) {
    if (readOwn(self.value.capabilities, capability) === undefined) continue;
    const definitions = await drain({ upstream, kind, signal }, deps);
    if (!definitions.ok) {
      if (kind === "template" && isUnknownMethod(definitions.refusal)) continue;
      return definitions;
    }
    for (const definition of definitions.value) {
      const item = judge({ upstream, kind, nameKey }, definition, deps.clean);
      const key = `${kind} ${item.name}`;
      const before = items.get(key);
      items.set(key, before === undefined ? item : collidedWithItself(item, before));
    }
  }
  if (items.size > deps.bounds.itemsPerUpstreamMax)
    return refuse("UPSTREAM_ANSWER_TOO_LARGE", {
      upstream,
      items: items.size,
      itemsMax: deps.bounds.itemsPerUpstreamMax,
    });
  return ok({ self: self.value, items: [...items.values()] });
}

async function drain(
  list: { upstream: string; kind: ItemKind; signal: AbortSignal },
  deps: { source: DefinitionSource; bounds: FetchBounds },
): Promise<Result<readonly JsonObject[]>> {
  const definitions: JsonObject[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < deps.bounds.listPagesMax; page += 1) {
    const answer = await deps.source.page({ ...list, cursor });
    if (!answer.ok) return answer;
    bytes += answer.value.bytes;
    const bytesMax = deps.bounds.listBytesMax;
    if (bytes > bytesMax) return refuse("UPSTREAM_ANSWER_TOO_LARGE", { upstream: list.upstream, bytesMax });
    for (const definition of answer.value.definitions) definitions.push(definition);
    cursor = answer.value.nextCursor;
    if (cursor === undefined) return ok(definitions);
    if (definitions.length > deps.bounds.itemsPerUpstreamMax || seen.has(cursor)) break;
    seen.add(cursor);
  }
  return refuse("UPSTREAM_ANSWER_INVALID", { upstream: list.upstream, kind: list.kind, fault: "list does not end" });
}

/** Many servers declare `resources` and know no templates; that alone must not cost their other items. */
function isUnknownMethod(refusal: Refusal): boolean {
  return refusal.facts["rpcCode"] === -32601;
}

function judge(
  from: { upstream: string; kind: ItemKind; nameKey: string },
  definition: JsonObject,
  clean: CleanDefinition,
): CatalogItem {
  const name = readOwnString(definition, from.nameKey) ?? "";
  const cleaned = clean(from.kind, definition);
  const identity = { upstream: from.upstream, kind: from.kind, name };
  const misshapen = misshapenMember(from.kind, definition);
  const unsafe = [
    ...(name === "" ? [unusable(from.nameKey, "absent")] : []),
    ...(misshapen === undefined ? [] : [unusable(misshapen, "of a wrong type")]),
    ...cleaned.unsafe,
  ];
  return {
    ...identity,
    definition,
    digest: digestOf(definition),
    shown: withoutHopMeta(cleaned.definition),
    findings: cleaned.findings,
    withheld: unsafe[0] === undefined ? undefined : withhold(identity.kind, unsafe[0]),
  };
}

function unusable(member: string, detail: string): Finding {
  return { kind: "identifier-unsafe", where: `/${member}`, detail, count: 1 };
}

function withhold(kind: ItemKind, finding: Finding): Refusal {
  return refuse("CATALOG_ITEM_UNSAFE", { kind, finding: finding.kind, where: finding.where }).refusal;
}

function collidedWithItself(item: CatalogItem, before: CatalogItem): CatalogItem {
  const facts = { upstream: item.upstream, kind: item.kind, fault: "listed twice by its upstream" };
  const twins = definitionsOf(before).filter(({ digest }) => digest !== item.digest);
  return { ...item, twins, withheld: refuse("CATALOG_ITEM_COLLIDED", facts).refusal };
}
