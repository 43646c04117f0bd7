import { parseOptions } from "./parse-options.ts";

/** Where decisions that were recorded are read: a file of events, or the Redis stream of a configuration. */
export type RecordedPlace = { readonly audit: string } | "redis";

/** What `sallyport policy` is asked to do. Every folder of policies is read under the names of the configuration. */
export type PolicyOrder = {
  readonly config: string;
  /** Undefined: the folder that the configuration names. */
  readonly policies: string | undefined;
  readonly json: boolean;
} & (
  | {
      readonly does: "explain";
      /** A file that describes somebody, or the reference of an event. */
      readonly principal: string;
      readonly server: string | undefined;
      readonly upstream: string | undefined;
      /** With an upstream `KIND:NAME`, else a name as the server shows it. */
      readonly item: string | undefined;
      readonly args: string | undefined;
      readonly at: string | undefined;
    }
  | { readonly does: "test"; readonly requireCoverage: boolean }
  | { readonly does: "lint" }
  | {
      readonly does: "matrix";
      readonly principals: string;
      readonly items: string | undefined;
      readonly at: string | undefined;
      readonly csv: boolean;
      readonly from: RecordedPlace | undefined;
    }
  | {
      readonly does: "diff";
      /** Undefined: what was decided when it was recorded. */
      readonly before: string | undefined;
      readonly after: string;
      readonly from: RecordedPlace;
    }
);

export type PolicyCommand =
  | { readonly command: "policy"; readonly order: PolicyOrder }
  | { readonly command: "help" }
  | { readonly command: "misused"; readonly message: string };

export const policyUsage = `  sallyport policy explain --config FILE --principal FILE|REF [--server NAME]
                 [--upstream NAME --item KIND:NAME | --item NAME] [--args FILE] [--at TIME] [--json]
                                       say why somebody may or may not see or use something
  sallyport policy test --config FILE [--require-coverage] [--json]
                                       run the cases that stand beside the policies
  sallyport policy lint --config FILE [--json]
                                       say what is doubtful about the policies
  sallyport policy matrix --config FILE --principals FILE [--items FILE] [--at TIME]
                 [--audit EVENTS | --redis] [--csv | --json]
                                       say who can do what, and used it last when
  sallyport policy diff --config FILE [--from FOLDER] --to FOLDER (--audit EVENTS | --redis) [--json]
                                       say whose recorded decisions come out differently
                 The first four take --policies FOLDER for others than those that FILE names.
`;

interface Values {
  help?: boolean;
  config?: string;
  policies?: string;
  json?: boolean;
  principal?: string;
  server?: string;
  upstream?: string;
  item?: string;
  args?: string;
  at?: string;
  "require-coverage"?: boolean;
  principals?: string;
  items?: string;
  csv?: boolean;
  audit?: string;
  redis?: boolean;
  from?: string;
  to?: string;
}

const own: ReadonlyMap<string, readonly (keyof Values)[]> = new Map<string, readonly (keyof Values)[]>([
  ["explain", ["policies", "principal", "server", "upstream", "item", "args", "at"]],
  ["test", ["policies", "require-coverage"]],
  ["lint", ["policies"]],
  ["matrix", ["policies", "principals", "items", "at", "csv", "audit", "redis"]],
  ["diff", ["from", "to", "audit", "redis"]],
]);

/** Reads what stands after `policy`. Never throws; does not look at files. */
export function readPolicyArguments(args: readonly string[]): PolicyCommand {
  const parsed = parse(args);
  if (typeof parsed === "string") return misused(parsed);
  const { values, positionals } = parsed;
  if (values.help === true) return { command: "help" };
  const [does = "", ...rest] = positionals;
  const known = own.get(does);
  if (known === undefined || rest.length > 0) return misused(`policy knows: ${[...own.keys()].join(", ")}`);
  const stray = Object.keys(values).find((option) => ![...known, "config", "json"].includes(option));
  if (stray !== undefined) return misused(`--${stray} does not belong to policy ${does}`);
  const { config, policies, json = false } = values;
  if (config === undefined) return misused(`policy ${does} takes --config FILE`);
  const wanted = readWanted(does, values);
  if (typeof wanted === "string") return misused(wanted);
  return { command: "policy", order: { config, policies, json, ...wanted } };
}

type Wanted = PolicyOrder extends infer Order
  ? Order extends PolicyOrder
    ? Omit<Order, "config" | "policies" | "json">
    : never
  : never;

function readWanted(does: string, values: Values): Wanted | string {
  switch (does) {
    case "explain":
      return readExplain(values);
    case "test":
      return { does, requireCoverage: values["require-coverage"] === true };
    case "matrix":
      return readMatrix(values);
    case "diff":
      return readDiff(values);
    default:
      return { does: "lint" };
  }
}

function readExplain({ principal, server, upstream, item, args, at }: Values): Wanted | string {
  if (principal === undefined) return "policy explain takes --principal FILE or a reference";
  if (upstream !== undefined && !/^[a-zA-Z]+:./u.test(item ?? "")) return "--upstream goes with --item KIND:NAME";
  return { does: "explain", principal, server, upstream, item, args, at };
}

function readMatrix({ principals, items, at, csv = false, json, audit, redis }: Values): Wanted | string {
  if (principals === undefined) return "policy matrix takes --principals FILE";
  if (csv && json === true) return "policy matrix takes --csv or --json, and one of them";
  const from = recordedPlace(audit, redis);
  return typeof from === "string" && from !== "redis" ? from : { does: "matrix", principals, items, at, csv, from };
}

function readDiff({ from: before, to: after, audit, redis }: Values): Wanted | string {
  if (after === undefined) return "policy diff takes --to FOLDER";
  const from = recordedPlace(audit, redis);
  if (from === undefined) return "policy diff takes --audit EVENTS or --redis";
  return typeof from === "string" && from !== "redis" ? from : { does: "diff", before, after, from };
}

/** A sentence where both are named. */
function recordedPlace(
  audit: string | undefined,
  redis = false,
): RecordedPlace | "--audit or --redis, and one of them" | undefined {
  if (audit === undefined) return redis ? "redis" : undefined;
  return redis ? "--audit or --redis, and one of them" : { audit };
}

function parse(args: readonly string[]): { values: Values; positionals: readonly string[] } | string {
  return parseOptions(args, {
    help: { type: "boolean", short: "h" },
    config: { type: "string", short: "c" },
    policies: { type: "string" },
    json: { type: "boolean" },
    principal: { type: "string" },
    server: { type: "string" },
    upstream: { type: "string" },
    item: { type: "string" },
    args: { type: "string" },
    at: { type: "string" },
    "require-coverage": { type: "boolean" },
    principals: { type: "string" },
    items: { type: "string" },
    csv: { type: "boolean" },
    audit: { type: "string" },
    redis: { type: "boolean" },
    from: { type: "string" },
    to: { type: "string" },
  });
}

function misused(message: string): PolicyCommand {
  return { command: "misused", message };
}
