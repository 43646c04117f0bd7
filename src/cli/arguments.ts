import { catalogUsage, readCatalogArguments, type CatalogCommand } from "./catalog-arguments.ts";
import { policyUsage, readPolicyArguments, type PolicyCommand } from "./policy-arguments.ts";
import type { CheckOrder } from "./check.ts";
import type { GrantOrder, GrantWish } from "./grant.ts";
import type { OffboardOrder } from "./offboard.ts";
import type { TokenOrder } from "./token.ts";
import { parseOptions } from "./parse-options.ts";

/** What the command line asks for. */
export type Command =
  | { readonly command: "serve" | "verify"; readonly file: string }
  | ({ readonly command: "check" } & CheckOrder)
  | {
      readonly command: "why";
      readonly ref: string;
      /** A JSON Lines file of evidence, or the configuration that says where evidence is. */
      readonly from: { readonly audit: string } | { readonly config: string };
    }
  | { readonly command: "token"; readonly config: string; readonly order: TokenOrder }
  | { readonly command: "grant"; readonly order: GrantOrder }
  | { readonly command: "offboard" | "readmit"; readonly order: OffboardOrder }
  | CatalogCommand
  | PolicyCommand
  | { readonly command: "version" | "help" }
  | { readonly command: "misused"; readonly message: string };

export const usage: string = `Usage:
  sallyport serve FILE                 start the gateway that FILE configures
  sallyport check FILE [--budget] [--live]
                                       say what FILE would serve, or all that is wrong with it; --budget:
                                       with what each server takes of a model's context; --live: by what
                                       upstreams list now, where the catalog lock does not have it
  sallyport why REF --audit EVENTS     tell what happened to the request with this reference,
  sallyport why REF --config FILE      from a file of events, or from where FILE keeps them
  sallyport audit verify EVENTS        show whether events were changed, removed or reordered
  sallyport token create --config FILE --service NAME --server NAME --item KIND:UPSTREAM/NAME …
                 [--scope SCOPE …] [--days N]   make a token for a service, bound to these items
  sallyport token list --config FILE             say which tokens there are
  sallyport token revoke ID --config FILE        end one of them
  sallyport grant list SUBJECT --issuer ALIAS --config FILE [--tenant NAME]
                                       say which grants somebody has at upstreams
  sallyport grant assign SERVICE --issuer ALIAS --from SUBJECT --from-issuer ALIAS --upstream NAME
                 --client ID … --config FILE [--tenant NAME]
                                       make somebody's grant that of a service
  sallyport grant admit SERVICE --issuer ALIAS --upstream NAME --client ID … --config FILE [--tenant NAME]
                                       open a service's grant to further clients of it
  sallyport grant revoke SUBJECT --issuer ALIAS --upstream NAME --config FILE [--tenant NAME]
                                       end a grant, here and where it was given
  sallyport offboard SUBJECT --issuer ALIAS --config FILE [--tenant NAME] [--days N]
                                       let somebody in no more, and end all that they have open
  sallyport readmit SUBJECT --issuer ALIAS --config FILE [--tenant NAME]
                                       let them in again
${catalogUsage}${policyUsage}  sallyport --version
  sallyport --help

Exit codes: 0 done; 1 the answer is no; 2 wrong usage.
`;

/** Reads `process.argv` without its first two entries. Never throws; does not look at files. */
export function readArguments(args: readonly string[]): Command {
  if (args[0] === "catalog") return readCatalogArguments(args.slice(1));
  if (args[0] === "policy") return readPolicyArguments(args.slice(1));
  const parsed = parse(args);
  if (typeof parsed === "string") return misused(parsed);
  const { values, positionals } = parsed;
  if (values.help === true) return { command: "help" };
  if (values.version === true) return { command: "version" };
  const [name = "", ...rest] = positionals;
  const reads = new Set(optionsOf(name, rest[0]));
  const stray = Object.keys(values).find((option) => !reads.has(option));
  if (stray !== undefined) return misused(`--${stray} does not belong to ${name === "" ? "no command" : name}`);
  return readCommand(name, rest, values);
}

function readCommand(name: string, rest: readonly string[], values: Parsed["values"]): Command {
  switch (name) {
    case "serve":
      return withFile(name, rest);
    case "check":
      return readCheck(rest, values);
    case "audit":
      return rest[0] === "verify" ? withFile("verify", rest.slice(1)) : misused("audit knows: verify EVENTS");
    case "why":
      return readWhy(rest, values);
    case "token":
      return readToken(rest, values);
    case "grant":
      return readGrant(rest, values);
    case "offboard":
    case "readmit":
      return readOffboarding(name, rest, values);
    default:
      return misused(name === "" ? "no command" : `unknown command ${name}`);
  }
}

interface Parsed {
  readonly values: {
    help?: boolean;
    version?: boolean;
    audit?: string;
    config?: string;
    service?: string;
    server?: string;
    item?: string[];
    scope?: string[];
    days?: string;
    issuer?: string;
    tenant?: string;
    budget?: boolean;
    live?: boolean;
    upstream?: string;
    client?: string[];
    from?: string;
    "from-issuer"?: string;
  };
  readonly positionals: readonly string[];
}

/** `parseArgs` throws on what it does not know; its messages name the option. */
function parse(args: readonly string[]): Parsed | string {
  return parseOptions(args, {
    help: { type: "boolean", short: "h" },
    version: { type: "boolean" },
    audit: { type: "string" },
    config: { type: "string", short: "c" },
    service: { type: "string" },
    server: { type: "string" },
    item: { type: "string", multiple: true },
    scope: { type: "string", multiple: true },
    days: { type: "string" },
    issuer: { type: "string" },
    tenant: { type: "string" },
    budget: { type: "boolean" },
    live: { type: "boolean" },
    upstream: { type: "string" },
    client: { type: "string", multiple: true },
    from: { type: "string" },
    "from-issuer": { type: "string" },
  });
}

function readCheck(rest: readonly string[], { budget = false, live = false }: Parsed["values"]): Command {
  const [file, ...more] = rest;
  if (file === undefined || more.length > 0) return misused("check takes one file");
  return { command: "check", file, budget, live };
}

function withFile(command: "serve" | "verify", rest: readonly string[]): Command {
  const [file, ...more] = rest;
  if (file === undefined || more.length > 0) return misused(`${command} takes one file`);
  return { command, file };
}

function readWhy(rest: readonly string[], { audit, config }: Parsed["values"]): Command {
  const [ref, ...more] = rest;
  if (ref === undefined || more.length > 0) return misused("why takes one reference");
  if (audit !== undefined && config === undefined) return { command: "why", ref, from: { audit } };
  if (config !== undefined && audit === undefined) return { command: "why", ref, from: { config } };
  return misused("why takes --audit EVENTS or --config FILE, and one of them");
}

/** How long a token lives when nobody says: long enough for a quarter, short enough to be noticed. */
const daysUnsaid = "90";

function readToken([does, ...rest]: readonly string[], values: Parsed["values"]): Command {
  const { config } = values;
  if (config === undefined) return misused("token takes --config FILE");
  if (does === "list" && rest.length === 0) return { command: "token", config, order: { does } };
  const [id, ...more] = rest;
  if (does === "revoke" && id !== undefined && more.length === 0)
    return { command: "token", config, order: { does, id } };
  if (does !== "create" || rest.length > 0) return misused("token knows: create, list, revoke ID");
  return readWish(config, values);
}

function readWish(config: string, values: Parsed["values"]): Command {
  const { service, server, item = [], scope = [], days = daysUnsaid } = values;
  if (service === undefined || server === undefined) return misused("token create takes --service and --server");
  const wanted = { service, server, items: item, scopes: scope, days: wholeNumber(days) };
  return { command: "token", config, order: { does: "create", wanted } };
}

function readGrant([does = "", subject, ...more]: readonly string[], values: Parsed["values"]): Command {
  const { config, issuer, tenant } = values;
  if (subject === undefined || more.length > 0)
    return misused("grant knows: list SUBJECT, assign SERVICE, admit SERVICE, revoke SUBJECT");
  if (config === undefined || issuer === undefined) return misused("grant takes --issuer ALIAS and --config FILE");
  const wanted = readGrantWish(does, values);
  if (typeof wanted === "string") return misused(wanted);
  return { command: "grant", order: { config, subject, issuer, tenant, wanted } };
}

function readGrantWish(
  does: string,
  { upstream, client: clients = [], from: subject, "from-issuer": issuer }: Parsed["values"],
): GrantWish | string {
  if (does === "list") return { does };
  if (does !== "assign" && does !== "admit" && does !== "revoke") return `grant does not know ${does}`;
  if (upstream === undefined) return `grant ${does} takes --upstream NAME`;
  if (does === "revoke") return { does, upstream };
  if (clients.length === 0) return `grant ${does} takes --client ID`;
  if (does === "admit") return { does, upstream, clients };
  if (subject === undefined || issuer === undefined) return "grant assign takes --from SUBJECT and --from-issuer ALIAS";
  return { does, upstream, clients, from: { subject, issuer } };
}

/** Longer than anything that was given out before lives, and a year more. */
const denyDaysUnsaid = "400";

function readOffboarding(
  command: "offboard" | "readmit",
  [subject, ...more]: readonly string[],
  { config, issuer, tenant, days = denyDaysUnsaid }: Parsed["values"],
): Command {
  if (subject === undefined || more.length > 0) return misused(`${command} takes one subject`);
  if (config === undefined || issuer === undefined) return misused(`${command} takes --issuer ALIAS and --config FILE`);
  return { command, order: { config, subject, issuer, tenant, days: wholeNumber(days) } };
}

function wholeNumber(text: string): number {
  return /^\d{1,4}$/.test(text) ? Number(text) : NaN;
}

const grantOptions: ReadonlyMap<string, readonly string[]> = new Map([
  ["assign", ["upstream", "client", "from", "from-issuer"]],
  ["admit", ["upstream", "client"]],
  ["revoke", ["upstream"]],
]);

function optionsOf(name: string, does: string | undefined): readonly string[] {
  if (name === "check") return ["budget", "live"];
  if (name === "why") return ["audit", "config"];
  if (name === "offboard") return ["config", "issuer", "tenant", "days"];
  if (name === "readmit") return ["config", "issuer", "tenant"];
  if (name === "grant") return ["config", "issuer", "tenant", ...(grantOptions.get(does ?? "") ?? [])];
  if (name !== "token") return [];
  return does === "create" ? ["config", "service", "server", "item", "scope", "days"] : ["config"];
}

function misused(message: string): Command {
  return { command: "misused", message };
}
