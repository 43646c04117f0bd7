import { parseOptions } from "./parse-options.ts";
import type { ApprovalOrder } from "../catalog/lock/approve.ts";
import { isLockedKind } from "../catalog/lock/document.ts";
import type { CatalogOrder } from "./catalog.ts";

export type CatalogCommand =
  | { readonly command: "catalog"; readonly order: CatalogOrder }
  | { readonly command: "help" }
  | { readonly command: "misused"; readonly message: string };

export const catalogUsage = `  sallyport catalog diff --config FILE [--upstream NAME]
                                       say how what upstreams offer differs from the catalog lock
  sallyport catalog update --config FILE [--upstream NAME] [--approver NAME] [--reason TEXT]
                                       approve what they offer, in the place of what was approved
  sallyport catalog approve UPSTREAM tool|prompt|template NAME --approver NAME --reason TEXT
                 --config FILE [--digest DIGEST] [--replace]
  sallyport catalog approve UPSTREAM instructions --approver NAME --reason TEXT --config FILE …
                                       approve one thing beside what was approved, or in its place
                 All take --from-definition NAME=FILE … for upstreams that only users can list.
`;

interface Values {
  config?: string;
  upstream?: string;
  approver?: string;
  reason?: string;
  digest?: string;
  replace?: boolean;
  help?: boolean;
  "from-definition"?: string[];
}

/** Reads what stands after `catalog`. Never throws; does not look at files. */
export function readCatalogArguments(args: readonly string[]): CatalogCommand {
  const parsed = parse(args);
  if (typeof parsed === "string") return misused(parsed);
  const { values, positionals } = parsed;
  if (values.help === true) return { command: "help" };
  const [does = "", ...rest] = positionals;
  const known = optionsOf.get(does);
  if (known === undefined) return misused("catalog knows: diff, update, approve");
  const stray = Object.keys(values).find((option) => !known.includes(option));
  if (stray !== undefined) return misused(`--${stray} does not belong to catalog ${does}`);
  if (values.config === undefined) return misused(`catalog ${does} takes --config FILE`);
  const definitions = readDefinitions(values["from-definition"] ?? []);
  if (typeof definitions === "string") return misused(definitions);
  const wanted = does === "approve" ? readApproval(rest, values) : readWhole(does, rest, values);
  if (typeof wanted === "string") return misused(wanted);
  return { command: "catalog", order: { config: values.config, definitions, ...wanted } };
}

const common = ["config", "from-definition"];

const optionsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ["diff", [...common, "upstream"]],
  ["update", [...common, "upstream", "approver", "reason"]],
  ["approve", [...common, "approver", "reason", "digest", "replace"]],
]);

function parse(args: readonly string[]): { values: Values; positionals: readonly string[] } | string {
  return parseOptions(args, {
    config: { type: "string", short: "c" },
    upstream: { type: "string" },
    approver: { type: "string" },
    reason: { type: "string" },
    digest: { type: "string" },
    replace: { type: "boolean" },
    help: { type: "boolean", short: "h" },
    "from-definition": { type: "string", multiple: true },
  });
}

function readDefinitions(texts: readonly string[]): ReadonlyMap<string, string> | string {
  const definitions = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at < 1 || at === text.length - 1) return "--from-definition takes NAME=FILE";
    definitions.set(text.slice(0, at), text.slice(at + 1));
  }
  return definitions;
}

type Wanted = Pick<CatalogOrder, "upstream" | "wanted">;

/** What stands in the lock where nobody signed: the review of the file is then the approval. */
const unsaid = { by: "catalog update", reason: "As its upstream offers it." };

function readWhole(does: string, rest: readonly string[], { upstream, approver, reason }: Values): Wanted | string {
  if (rest.length > 0) return `catalog ${does} takes no further words`;
  if (does === "diff") return { upstream, wanted: { does } };
  return { upstream, wanted: { does: "update", by: approver ?? unsaid.by, reason: reason ?? unsaid.reason } };
}

function readApproval(
  rest: readonly string[],
  { approver: by, reason, digest, replace = false }: Values,
): Wanted | string {
  const [upstream, kind = "", name, ...more] = rest;
  const isNamed = isLockedKind(kind) ? name !== undefined : kind === "instructions" && name === undefined;
  if (upstream === undefined || !isNamed || more.length > 0)
    return "catalog approve takes UPSTREAM, tool, prompt or template, and NAME; or UPSTREAM and instructions";
  if (by === undefined || reason === undefined) return "catalog approve takes --approver NAME and --reason TEXT";
  const what: ApprovalOrder["kind"] = isLockedKind(kind) ? kind : "instructions";
  const approval = { kind: what, name: name ?? "", digest, replaces: replace };
  return { upstream, wanted: { does: "approve", by, reason, approval } };
}

function misused(message: string): CatalogCommand {
  return { command: "misused", message };
}
