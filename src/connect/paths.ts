import { connectPages } from "../model/identifiers.ts";

const home = "/connect";

type Page = "home" | "signIn" | "signOut" | "callback" | "granted" | "revoke";

/** Where the pages are; all below `publicUrl`. `/connect/{upstream}` is every other single segment. */
export const paths: Readonly<Record<Page, string>> = {
  home,
  signIn: `${home}/${connectPages.signIn}`,
  signOut: `${home}/${connectPages.signOut}`,
  callback: `${home}/${connectPages.callback}`,
  granted: `${home}/${connectPages.granted}`,
  revoke: `${home}/${connectPages.revoke}`,
};

export type Place =
  { readonly kind: Page } | { readonly kind: "upstream"; readonly upstream: string } | { readonly kind: "nowhere" };

const kinds: readonly Page[] = ["home", "signIn", "signOut", "callback", "granted", "revoke"];
const fixedPlaces: ReadonlyMap<string, Place> = new Map(kinds.map((kind) => [paths[kind], { kind }]));
const name = /^[A-Za-z0-9_-]{1,128}$/;

/** What stands at `path`, or undefined when the path is not this room's. It does not know which upstreams there are. */
export function findPlace(path: string): Place | undefined {
  const fixed = fixedPlaces.get(path);
  if (fixed !== undefined) return fixed;
  if (!path.startsWith(`${paths.home}/`)) return undefined;
  const upstream = path.slice(paths.home.length + 1);
  return name.test(upstream) ? { kind: "upstream", upstream } : { kind: "nowhere" };
}

export function upstreamPath(upstream: string): string {
  return `${paths.home}/${upstream}`;
}

/**
 * `target` when it is a page of ours that somebody who signed in may be sent to, else the home page. Whatever a link
 * or a form says, nobody is sent anywhere else. It is written anew, since not every text may stand in a header.
 */
export function pageTarget(target: string | null): string {
  const path = target?.split("?", 1)[0] ?? "";
  const kind = findPlace(path)?.kind;
  if (target === null || (kind !== "home" && kind !== "upstream")) return paths.home;
  const { pathname, search } = new URL(target, "http://localhost");
  return pathname + search;
}
