import { fits, type NameRules } from "../model/shown-name.ts";
import { printable, type Place, type PlacedFault } from "./fault.ts";
import { repeated } from "./rules-auth.ts";
import type { Config, ServerConfig } from "./types.ts";
import type { ItemNotesConfig, PresentationConfig, RenamedItems } from "./types-presenting.ts";

/** Evidence names a presentation by its id and server. */
export function presentationIdsAreUnique(config: Config): PlacedFault[] {
  return eachServer(config, ({ presentations }, place) =>
    repeated(presentations.map(({ id }, at) => ({ text: id, place: [...place, "presentations", at, "id"] }))).map(
      ({ text, place: at }) => ({
        place: at,
        found: printable(text),
        expected: "an id that no other presentation of this server has",
        rule: "presentationIdsAreUnique",
      }),
    ),
  );
}

/** What is said of an upstream that the server does not take would show nowhere. */
export function presentationsNameTheServersUpstreams(config: Config): PlacedFault[] {
  return eachPresentation(config, ({ presentation, server, place }) =>
    (["rename", "title", "describe", "hide"] as const).flatMap((key) =>
      Object.keys(presentation[key])
        .filter((upstream) => server.upstreams[upstream] === undefined)
        .map((upstream) => ({
          place: [...place, key, upstream],
          found: printable(upstream),
          expected: `one of the server's upstreams ${Object.keys(server.upstreams).join(", ")}`,
          rule: "presentationsNameTheServersUpstreams",
        })),
    ),
  );
}

/** Two items that a presentation gives one name would both be withheld from whoever sees both. */
export function presentedNamesDoNotCollide(config: Config): PlacedFault[] {
  return eachPresentation(config, ({ presentation, server, place }) =>
    (["tools", "prompts"] as const).flatMap((kind) =>
      repeated(namesGiven(presentation, server, kind)).map(({ text, place: at }) => ({
        place: [...place, ...at],
        found: printable(text),
        expected: `a name that no other of the ${kind} is given here`,
        rule: "presentedNamesDoNotCollide",
      })),
    ),
  );
}

/** The server's own renames that stand come first, so that the fault is where the presentation says something. */
function namesGiven(
  { rename }: PresentationConfig,
  server: ServerConfig,
  kind: "tools" | "prompts",
): { text: string; place: Place }[] {
  const standing = Object.entries(server.upstreams).flatMap(([upstream, { rename: own }]) =>
    Object.entries(own[kind])
      .filter(([original]) => rename[upstream]?.[kind][original] === undefined)
      .map(([, text]) => ({ text, place: [] })),
  );
  const given = Object.entries(rename).flatMap(([upstream, names]) =>
    Object.entries(names[kind]).map(([original, text]) => ({ text, place: ["rename", upstream, kind, original] })),
  );
  return [...standing, ...given];
}

/** A name that is written out is shown as it is written, so it must be one that is shown at all. */
export function writtenNamesFit(config: Config): PlacedFault[] {
  const ofServers = eachServer(config, ({ upstreams, names }, place) =>
    Object.entries(upstreams).flatMap(([upstream, { rename }]) =>
      unfitting(rename, names, [...place, "upstreams", upstream, "rename"]),
    ),
  );
  const ofPresentations = eachPresentation(config, ({ presentation, server, place }) =>
    Object.entries(presentation.rename).flatMap(([upstream, rename]) =>
      unfitting(rename, server.names, [...place, "rename", upstream]),
    ),
  );
  return [...ofServers, ...ofPresentations];
}

function unfitting(rename: RenamedItems, names: NameRules, place: Place): PlacedFault[] {
  return (["tools", "prompts"] as const).flatMap((kind) =>
    Object.entries(rename[kind])
      .filter(([, text]) => !fits(text, names))
      .map(([original, text]) => ({
        place: [...place, kind, original],
        found: printable(text),
        expected: `at most ${names.maxChars} characters: ${wording[names.characters]}`,
        rule: "writtenNamesFit",
      })),
  );
}

const wording: Readonly<Record<NameRules["characters"], string>> = {
  providers: "letters, digits, _ and -, with a letter or _ first (names.characters: protocol allows more)",
  protocol: "letters, digits, _, . and -",
};

/** A prefix that no name may begin with would change every name behind it. */
export function prefixesFit(config: Config): PlacedFault[] {
  return eachServer(config, ({ upstreams, names }, place) =>
    Object.entries(upstreams)
      .filter(([, { prefix }]) => prefix !== "" && !fits(prefix, { ...names, maxChars: Infinity }))
      .map(([upstream, { prefix }]) => ({
        place: [...place, "upstreams", upstream, "prefix"],
        found: printable(prefix),
        expected: wording[names.characters],
        rule: "prefixesFit",
      })),
  );
}

/** An entry that names no kind, or two, would hold for what nobody reads out of it; one that says nothing does nothing. */
export function itemNotesNameOneKind({ upstreams }: Config): PlacedFault[] {
  return Object.entries(upstreams).flatMap(([name, { items }]) =>
    items.flatMap((entry, at) => {
      if (isWhole(entry)) return [];
      const expected =
        "exactly one of tool, prompt, resource and template, and labels, a title or (of tools) annotations";
      const found = printable(Object.keys(entry).join(", "));
      return [{ place: ["upstreams", name, "items", at], found, expected, rule: "itemNotesNameOneKind" }];
    }),
  );
}

function isWhole({ tool, prompt, resource, template, labels, annotations, title }: ItemNotesConfig): boolean {
  const kinds = [tool, prompt, resource, template].filter((globs) => globs !== undefined);
  const says = [labels, annotations, title].some((said) => said !== undefined);
  return kinds.length === 1 && says && (annotations === undefined || tool !== undefined);
}

interface Presented {
  readonly presentation: PresentationConfig;
  readonly server: ServerConfig;
  readonly place: Place;
}

function eachPresentation(config: Config, check: (of: Presented) => readonly PlacedFault[]): PlacedFault[] {
  return eachServer(config, (server, place) =>
    server.presentations.flatMap((presentation, at) =>
      check({ presentation, server, place: [...place, "presentations", at] }),
    ),
  );
}

function eachServer(
  { servers }: Config,
  check: (server: ServerConfig, place: Place) => readonly PlacedFault[],
): PlacedFault[] {
  return Object.entries(servers).flatMap(([name, server]) => check(server, ["servers", name]));
}
