import { uiExtension } from "../model/identifiers.ts";
import type { NameRules } from "../model/shown-name.ts";
import { defaults } from "./defaults.ts";
import { fillBudget, fillPatterns, fillPresentation, fillRenamed, fillTexts } from "./fill-presenting.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawServer, RawServerUpstream } from "./raw.ts";
import type { AuthConfig } from "./types-auth.ts";
import type { ServerConfig, ServerUpstreamConfig } from "./types.ts";

/** `names`: the gateway's, for what the server does not say of its own. */
export function fillServer(raw: RawServer, auth: AuthConfig, names: NameRules): ServerConfig {
  const minimal = raw.scopes?.minimal ?? [];
  return {
    title: raw.title,
    instructions: raw.instructions,
    scopes: { minimal, supported: raw.scopes?.supported ?? minimal },
    upstreams: mapByName(raw.upstreams, fillServerUpstream),
    issuer: raw.issuer ?? advertised(auth),
    extensions: raw.extensions ?? [uiExtension],
    presentations: (raw.presentations ?? []).map(fillPresentation),
    names: { ...names, ...raw.names },
    schemas: { simplify: raw.schemas?.simplify ?? defaults.simplifySchemas },
    budget: raw.budget === undefined ? undefined : fillBudget(raw.budget),
  };
}

/** The built-in authorization server first: whoever switches it on wants clients to sign in there. */
function advertised(auth: AuthConfig): string | undefined {
  return auth.kind === "none" ? undefined : (auth.builtIn?.alias ?? auth.issuers[0]?.alias);
}

function fillServerUpstream(raw: RawServerUpstream): ServerUpstreamConfig {
  return {
    prefix: raw.prefix ?? "",
    include: fillPatterns(raw.include ?? {}),
    hide: fillPatterns(raw.hide ?? {}),
    rename: fillRenamed(raw.rename ?? {}),
    title: fillTexts(raw.title ?? {}),
    describe: fillTexts(raw.describe ?? {}),
    uriPrefix: raw.uriPrefix ?? "",
  };
}
