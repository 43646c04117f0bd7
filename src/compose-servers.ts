import { protectedResourceMetadata, protectedResourceMetadataUrl } from "./auth/protected-resource.ts";
import { acceptedProofs, boundTokensAt } from "./compose-proofs.ts";
import { advertisedScopePrefix, type SignIn } from "./compose-sign-in.ts";
import type { Config } from "./config/types.ts";
import type { VirtualServer } from "./gateway/gateway.ts";

interface MetadataParts {
  readonly config: Config;
  readonly signIn: SignIn;
}

export function virtualServers(config: Config, signIn: SignIn): ReadonlyMap<string, VirtualServer> {
  return new Map(
    Object.entries(config.servers).map(([name, server]) => {
      const resource = `${config.publicUrl}/${name}/mcp`;
      const metadataUrl = protectedResourceMetadataUrl(resource);
      const { instructions } = server;
      return [
        name,
        {
          name,
          title: server.title ?? name,
          instructions,
          resource,
          metadataUrl,
          minimalScopes: server.scopes.minimal,
          scopePrefix: advertisedScopePrefix(config, name),
          proofAlgorithms: acceptedProofs(signIn),
          extensions: server.extensions,
        },
      ];
    }),
  );
}

export function metadataOf(rooms: MetadataParts, server: VirtualServer): ReturnType<typeof protectedResourceMetadata> {
  const { resource, title: name, scopePrefix = "" } = server;
  const issuer = rooms.signIn.issuerOf(rooms.config.servers[server.name]?.issuer);
  const scopes = server.minimalScopes.map((scope) => `${scopePrefix}${scope}`);
  return protectedResourceMetadata({
    resource,
    issuer,
    scopes,
    name,
    ...boundTokensAt(rooms.config, rooms.signIn, server.name),
  });
}
