import type { Json } from "../model/json.ts";
import type { Principal } from "../model/principal.ts";
import { subjectKinds } from "./language.ts";
import type { Effect } from "./language.ts";
import { isMapping } from "./read-fields.ts";
import type { RuleSource } from "./rule-source.ts";
import type { Rule } from "./rule.ts";
import { anything, whatMatches } from "./what.ts";
import type { Target, What } from "./what.ts";
import { readWho } from "./who.ts";

/** A field of `who` or `what` that keeps a rule from a question. */
export interface Mismatch {
  readonly part: "who" | "what";
  /** As it is written, `claims.region` for a claim; `lock` where only the catalog lock keeps an allow from the item. */
  readonly field: string;
  readonly wanted: unknown;
  /** What the principal or the item has there; undefined for nothing. */
  readonly found: Json | undefined;
}

/** Notes are taken of documents that did not compile; these did. */
const place = { notes: { file: "", faults: [], warnings: [] }, pointer: "" };

/** Every field of `who` that does not match the principal. */
export function whoMismatches({ who }: RuleSource, principal: Principal): readonly Mismatch[] {
  return fieldsOf(who).flatMap(({ field, alone, wanted }) => {
    const read = readWho(place, alone, { issuerAliases: [principal.issuerAlias] });
    if (read?.matches(principal) === true) return [];
    return [{ part: "who", field, wanted, found: heldBy(principal, field) }];
  });
}

interface Field {
  readonly field: string;
  readonly alone: Readonly<Record<string, unknown>>;
  readonly wanted: unknown;
}

function fieldsOf(who: RuleSource["who"]): readonly Field[] {
  return Object.entries(who).flatMap(([field, wanted]) => {
    if (field !== "claims" || !isMapping(wanted)) return [{ field, alone: { [field]: wanted }, wanted }];
    return Object.entries(wanted).map(([claim, value]) => ({
      field: `claims.${claim}`,
      alone: { claims: { [claim]: value } },
      wanted: value,
    }));
  });
}

function heldBy(principal: Principal, field: string): Json | undefined {
  if (field.startsWith("claims.")) return principal.claims[field.slice("claims.".length)];
  const held = new Map<string, Json>([
    ["issuer", principal.issuerAlias],
    ["subject", principal.subject],
    ["client", principal.clientId],
    ["groups", [...principal.groups]],
    ["scopes", [...principal.scopes]],
    ["tenant", principal.tenant],
    ["kind", principal.kind],
  ]);
  return held.get(field);
}

/** Every field of `what` that does not match the item. */
export function whatMismatches({ what, effect }: Rule, source: RuleSource, target: Target): readonly Mismatch[] {
  if (whatMatches(what, effect, target)) return [];
  const locked: Target = { ...target, facts: () => ({ ...target.facts(), locked: true }) };
  const apart = partsOf(what).filter(([, part]) => !whatMatches(part, effect, locked));
  if (apart.length === 0) return [{ part: "what", field: "lock", wanted: "a locked item", found: target.name }];
  const found = (field: string): Json | undefined => foundAt(target, effect, field);
  return apart.map(([field]) => ({ part: "what", field, wanted: source.what[field], found: found(field) }));
}

/** Each field on its own. */
function partsOf(what: What): readonly (readonly [field: string, part: What])[] {
  const field = what.kind ?? "anything";
  const parts: (readonly [string, What])[] = [
    ["server", { ...anything, servers: what.servers }],
    ["upstream", { ...anything, upstreams: what.upstreams }],
    [field, { ...anything, kind: what.kind, names: what.names }],
    ["digest", { ...anything, digests: what.digests }],
  ];
  if (what.marks === undefined) return parts;
  const { labels, annotations } = what.marks;
  return [
    ...parts,
    ["labels", { ...anything, marks: { labels, annotations: new Map() } }],
    ["annotations", { ...anything, marks: { labels: undefined, annotations } }],
  ];
}

function foundAt(target: Target, effect: Effect, field: string): Json | undefined {
  if (field === "labels" || field === "annotations") {
    const facts = target.facts();
    const marks = effect === "allow" ? facts : (facts.possible?.[0] ?? facts);
    return field === "labels" ? [...marks.labels] : { ...marks.annotations };
  }
  if (field === "digest") return target.digest();
  if (field === "server") return target.server;
  if (field === "upstream") return target.upstream;
  return subjectKinds.some((kind) => kind === field) ? `${target.kind} ${target.name}` : undefined;
}
