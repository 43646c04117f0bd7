import { uiExtension } from "../model/identifiers.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawPatterns, RawServer, RawServerUpstream } from "./raw.ts";
import type { AuthConfig } from "./types-auth.ts";
import type { ItemPatterns, ServerConfig, ServerUpstreamConfig } from "./types.ts";

export function fillServer(raw: RawServer, auth: AuthConfig): ServerConfig {
  const minimal = raw.scopes?.minimal ?? [];
  return {
    title: raw.title,
    instructions: raw.instructions,
    scopes: { minimal, supported: raw.scopes?.supported ?? minimal },
    upstreams: mapByName(raw.upstreams, fillServerUpstream),
    issuer: raw.issuer ?? advertised(auth),
    extensions: raw.extensions ?? [uiExtension],
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
    rename: fillRename(raw.rename ?? {}),
    describe: fillDescribe(raw.describe ?? {}),
    uriPrefix: raw.uriPrefix ?? "",
  };
}

function fillRename(raw: NonNullable<RawServerUpstream["rename"]>): ServerUpstreamConfig["rename"] {
  return { tools: mapByName(raw.tools ?? {}, String), prompts: mapByName(raw.prompts ?? {}, String) };
}

function fillDescribe(raw: NonNullable<RawServerUpstream["describe"]>): ServerUpstreamConfig["describe"] {
  return {
    tools: mapByName(raw.tools ?? {}, String),
    prompts: mapByName(raw.prompts ?? {}, String),
    resources: mapByName(raw.resources ?? {}, String),
    templates: mapByName(raw.templates ?? {}, String),
  };
}

function fillPatterns(raw: RawPatterns): ItemPatterns {
  return { tools: raw.tools, prompts: raw.prompts, resources: raw.resources, templates: raw.templates };
}
