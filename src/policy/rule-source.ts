import type { PolicyDocument } from "./language.ts";
import { isMapping } from "./read-fields.ts";

/** A rule as it stands in its document, for whoever has to speak of it. */
export interface RuleSource {
  /** The file and, after `#`, the JSON pointer (RFC 6901) of the rule: `policies/support.yaml#/rules/0`. */
  readonly path: string;
  readonly file: string;
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly who: Readonly<Record<string, unknown>>;
  readonly what: Readonly<Record<string, unknown>>;
  readonly when: string | undefined;
  readonly note: string | undefined;
}

/** The rules of documents that compiled, by id. Of documents that did not, those that can be told at all. */
export function ruleSources(documents: readonly PolicyDocument[]): ReadonlyMap<string, RuleSource> {
  const sources = documents.flatMap(({ path, value }) => {
    const rules: unknown = isMapping(value) ? value["rules"] : undefined;
    return Array.isArray(rules) ? rules.map((rule: unknown, at) => sourceOf(rule, path, at)) : [];
  });
  return new Map(sources.filter((source) => source !== undefined).map((source) => [source.id, source]));
}

function sourceOf(rule: unknown, file: string, at: number): RuleSource | undefined {
  if (!isMapping(rule)) return undefined;
  const { id, who, what, when, note } = rule;
  if (typeof id !== "string" || !isMapping(who) || !isMapping(what)) return undefined;
  return {
    path: `${file}#/rules/${at}`,
    file,
    id,
    fields: rule,
    who,
    what,
    when: typeof when === "string" ? when : undefined,
    note: typeof note === "string" ? note : undefined,
  };
}
