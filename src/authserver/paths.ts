import type { ProtectedResource } from "./options.ts";

/** Where the built-in authorization server answers. None of these can be a server's name. */
export const paths = {
  authorize: "/authorize",
  token: "/token",
  register: "/register",
  keys: "/oauth/jwks",
  revoke: "/oauth/revoke",
  interaction: "/oauth/interaction",
  /** Where the company's provider sends browsers back to. */
  callback: "/oauth/callback",
} as const;

export type Place =
  | { readonly kind: "metadata" }
  | { readonly kind: "keys" }
  | { readonly kind: "authorize" | "resume" | "token" | "register" | "revoke" | "callback" }
  | { readonly kind: "interaction"; readonly uid: string }
  | { readonly kind: "nowhere" };

const fixedPlaces: ReadonlyMap<string, Place> = new Map<string, Place>([
  [paths.authorize, { kind: "authorize" }],
  [paths.token, { kind: "token" }],
  [paths.register, { kind: "register" }],
  [paths.keys, { kind: "keys" }],
  [paths.revoke, { kind: "revoke" }],
  [paths.callback, { kind: "callback" }],
]);

const wellKnown =
  /^(?<before>\/.+)?\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(?<after>\/.*)?$/;
const identifier = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * What stands at `path`, or undefined when the path is not this room's. The metadata of RFC 8414 is
 * found at the root and, since clients insert or append the path of the server they call, at both
 * mirrors of every server; mirrors of anything else are claimed too and hold nothing.
 */
export function findPlace(path: string, resources: readonly ProtectedResource[]): Place | undefined {
  const fixed = fixedPlaces.get(path);
  if (fixed !== undefined) return fixed;
  const metadata = wellKnown.exec(path);
  if (metadata !== null) return metadataPlace(metadata.groups?.["before"], metadata.groups?.["after"], resources);
  return interactionPlace(path) ?? resumePlace(path);
}

function metadataPlace(
  before: string | undefined,
  after: string | undefined,
  resources: readonly ProtectedResource[],
): Place {
  if (before !== undefined && after !== undefined) return { kind: "nowhere" };
  const mirrored = before ?? after;
  const known = mirrored === undefined || resources.some((resource) => new URL(resource.uri).pathname === mirrored);
  return { kind: known ? "metadata" : "nowhere" };
}

function interactionPlace(path: string): Place | undefined {
  const uid = segmentBelow(paths.interaction, path);
  if (uid === undefined) return undefined;
  return identifier.test(uid) ? { kind: "interaction", uid } : { kind: "nowhere" };
}

/** The library resumes an authorization at `/authorize/{uid}`; `uid` must fit the cookie, which it checks. */
function resumePlace(path: string): Place | undefined {
  const uid = segmentBelow(paths.authorize, path);
  if (uid === undefined) return undefined;
  return identifier.test(uid) ? { kind: "resume" } : { kind: "nowhere" };
}

function segmentBelow(parent: string, path: string): string | undefined {
  return path.startsWith(`${parent}/`) ? path.slice(parent.length + 1) : undefined;
}
