import { lockedKinds } from "../catalog/lock/document.ts";
import type { Lock } from "../catalog/lock/lock.ts";
import { withoutUrlSecrets } from "../config/fault.ts";
import type { Config, ServerConfig, UpstreamConfig } from "../config/types.ts";
import type { LoadedFile } from "./load-file.ts";

/** What a configuration would serve, line by line. */
export function summary({ loaded, policy, policyFiles, policyOwners, lock }: LoadedFile): string[] {
  const { config } = loaded;
  return [
    `Serving ${config.publicUrl} on ${config.listen.host}:${config.listen.port}, operations on ${config.operations.host}:${config.operations.port}`,
    "",
    "Servers",
    ...Object.entries(config.servers).flatMap(([name, server]) => serverLines(config, name, server)),
    "Upstreams",
    ...Object.entries(config.upstreams).map(([name, upstream]) => upstreamLine(name, upstream)),
    "Authentication",
    ...authLines(config),
    "Policy",
    `  ${counted(policy.ruleCount, "rule")} in ${counted(policyFiles, "file")} of ${config.policies ?? "no folder"}`,
    ...(policyOwners.length === 0 ? [] : [`  owners: ${policyOwners.join(", ")}`]),
    ...(lock === undefined ? [] : ["Catalog lock", ...lockLines(config, lock)]),
    "Evidence",
    `  ${config.audit.mode}: ${config.audit.sinks.map(sinkText).join(", ") || "nowhere"}`,
    "Store",
    config.store.kind === "memory" ? "  in memory: one replica, and nothing survives a restart" : "  Redis",
    "",
    `Configuration ${loaded.digest}`,
    `Policy        ${policy.digest}`,
    ...(lock === undefined ? [] : [`Catalog lock  ${lock.digest}`]),
  ];
}

function lockLines({ upstreams }: Config, { document }: Lock): string[] {
  return Object.entries(upstreams).map(([name, { lock, catalogFrom }]) => {
    const items = document.upstreams.get(name)?.items;
    const count = lockedKinds.reduce((sum, kind) => sum + (items?.[kind].size ?? 0), 0);
    const from = catalogFrom === "lock" ? ", and listed from it" : "";
    return `  ${name}: ${lock}, ${counted(count, "item")} approved${from}`;
  });
}

function serverLines({ publicUrl }: Config, name: string, server: ServerConfig): string[] {
  const from = Object.entries(server.upstreams).map(([upstream, { prefix }]) =>
    prefix === "" ? upstream : `${upstream} as ${prefix}*`,
  );
  const scopes = server.scopes.minimal.length === 0 ? "" : `; asks for ${server.scopes.minimal.join(" ")}`;
  const shown = server.presentations.map(({ id }) => id);
  const ways = shown.length === 0 ? "" : `; shown otherwise as ${shown.join(", ")}`;
  return [`  ${publicUrl}/${name}/mcp: ${from.join(", ")}${scopes}${ways}`];
}

function upstreamLine(name: string, { url, era, addresses, credential }: UpstreamConfig): string {
  const how = credentialNames[credential.type];
  return `  ${name}: ${withoutUrlSecrets(url)} (era ${era}, ${addresses} addresses, ${how})`;
}

const credentialNames: Readonly<Record<UpstreamConfig["credential"]["type"], string>> = {
  none: "no credential",
  static: "static headers",
  clientCredentials: "client credentials",
  assertion: "signed assertions",
  tokenExchange: "token exchange",
  identityAssertion: "identity assertions",
  user: "grants of users",
};

function authLines({ auth, publicUrl }: Config): string[] {
  if (auth.kind === "none") return ["  none: everybody is the same anonymous principal"];
  const lines = auth.issuers.map(({ alias, issuer }) => `  ${alias}: ${issuer}`);
  if (auth.builtIn === undefined) return lines;
  const { alias, users, clients } = auth.builtIn;
  return [
    ...lines,
    `  ${alias}: ${publicUrl}, built in, ${counted(users.length, "user")}, ${counted(clients.length, "client")}`,
  ];
}

function sinkText(sink: Config["audit"]["sinks"][number]): string {
  return sink.kind === "file" ? `file ${sink.path}` : `Redis stream ${sink.stream}`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
