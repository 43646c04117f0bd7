import { createHeldScopes } from "../auth/held-scopes.ts";
import type { Lock } from "../catalog/lock/lock.ts";
import { readPolicyTexts } from "../config/policies.ts";
import type { Config } from "../config/types.ts";
import type { Policy } from "../policy/compile.ts";
import type { CaseNames } from "../policy/read-cases.ts";
import type { PrincipalNames } from "../policy/read-principal.ts";
import { ruleSources, type RuleSource } from "../policy/rule-source.ts";
import { reportFaults } from "./check.ts";
import { loadConfigFile, type Environment } from "./load-file.ts";
import { compileBundle, mappedClaims, readBundle, type LoadedPolicies } from "./load-policies.ts";
import type { RecordNames } from "./recorded-decision.ts";
import { issuersOf } from "./subject-at.ts";
import type { Output } from "./output.ts";

/** A configuration's policies, or those of another folder under its names, ready for questions. */
export interface PolicyBundle {
  readonly policy: Policy;
  readonly sources: ReadonlyMap<string, RuleSource>;
  readonly lock: Lock | undefined;
  readonly loaded: LoadedPolicies;
  /** What descriptions of people and items may name, under this policy. */
  readonly names: CaseNames;
  readonly recordNames: RecordNames;
}

/** The configuration that a command names; undefined once its faults are reported. */
export function openConfig(file: string, env: Environment, output: Output): Config | undefined {
  const loaded = loadConfigFile(file, env);
  if (loaded.ok) return loaded.config;
  reportFaults(file, loaded.faults, output);
  return undefined;
}

/** Compiles the policies of a folder (undefined: those that the configuration names) under the configuration's lock. */
export function openPolicies(config: Config, folder: string | undefined, output: Output): PolicyBundle | undefined {
  const loaded = loadFrom(config, folder);
  if (!loaded.ok) {
    reportFaults(folder ?? config.policies ?? "no policies", loaded.faults, output);
    return undefined;
  }
  const { policy, lock, documents } = loaded;
  const principals = principalNames(config, policy);
  const { issuers, held } = principals;
  const names = {
    ...principals,
    upstreams: Object.keys(config.upstreams),
    servers: Object.keys(config.servers),
  };
  const uriPrefix = (server: string, upstream: string): string =>
    config.servers[server]?.upstreams[upstream]?.uriPrefix ?? "";
  const recordNames = { issuers, held, uriPrefix };
  return { policy, sources: ruleSources(documents), lock, loaded, names, recordNames };
}

function loadFrom(config: Config, folder: string | undefined): ReturnType<typeof compileBundle> {
  const read = readBundle(folder === undefined ? config : { ...config, policies: undefined });
  if (!read.ok) return read;
  if (folder === undefined) return compileBundle(config, read.texts);
  const policies = readPolicyTexts(folder);
  return policies.ok ? compileBundle(config, { ...read.texts, policies: policies.texts }) : policies;
}

/** What descriptions of people may name. */
export function principalNames(config: Config, policy: Policy): PrincipalNames {
  return {
    issuers: describedIssuers(config),
    claims: mappedClaims(config.auth),
    held: heldScopesUnder(config, policy),
  };
}

/** Where authentication is switched off, everybody is the same principal, whom policies can name all the same. */
function describedIssuers(config: Config): CaseNames["issuers"] {
  if (config.auth.kind === "none") return [{ alias: "anonymous", issuer: "anonymous", tenant: "default" }];
  return issuersOf(config);
}

function heldScopesUnder({ auth, servers }: Config, { scopes }: Policy): CaseNames["held"] {
  if (auth.kind === "none") return (held) => held;
  const supported = Object.values(servers).flatMap((server) => server.scopes.supported);
  return createHeldScopes({ implications: auth.scopeImplications, known: [...supported, ...scopes] });
}
