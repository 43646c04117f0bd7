import type { IssuerProfileName } from "../model/issuer-profile.ts";
import { printable, type PlacedFault } from "./fault.ts";
import type { Config } from "./types.ts";

/** Whoever has a token for one of the servers has one for the other. */
export function audiencesAreShared({ auth }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  return auth.issuers.flatMap(({ audience }, index) => {
    const seen = new Set<string>();
    return Object.entries(audience)
      .filter(([, value]) => seen.size === seen.add(value).size)
      .map(([server, value]) => ({
        place: ["auth", "issuers", index, "audience", server],
        found: printable(value),
        expected: "an audience of its own: a token for the other server is accepted here too",
        rule: "audiencesAreShared",
      }));
  });
}

/** Providers that put the URL of a server into `aud` only when they are made to. */
const rarelyByUrl: readonly IssuerProfileName[] = ["entra", "cognito", "authentik"];

export function audiencesAreMissing({ auth, servers }: Config): PlacedFault[] {
  if (auth.kind === "none") return [];
  return auth.issuers.flatMap(({ alias, profile, audience }, index) =>
    Object.entries(servers)
      .filter(
        ([server, { issuer }]) => issuer === alias && rarelyByUrl.includes(profile) && audience[server] === undefined,
      )
      .map(([server]) => ({
        place: ["auth", "issuers", index, "audience"],
        found: `nothing for ${server}`,
        expected: `what proves that a token of ${profile} is for ${server}; without it, only the server's URL in \`aud\` does`,
        rule: "audiencesAreMissing",
      })),
  );
}
