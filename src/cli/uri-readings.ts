import { allowMatchesUri, denyMatchesUri, uriForms, type UriForms, type UriGlob } from "../policy/uri.ts";

interface Named {
  readonly globs: readonly UriGlob[];
}

/** Which entries name a URI. */
export interface UriReadings<E> {
  /** Whichever way it is read, as the patterns of an allow match. */
  readonly sure: readonly E[];
  /**
   * All that name it in some reading, as the patterns of a deny match, then those of each reading; undefined where all
   * are sure. A URI that nobody can decode may be named by none of them, by any one and by all.
   */
  readonly possible: readonly (readonly E[])[] | undefined;
}

/** Keeps the order of entries. */
export function uriReadings<E extends Named>(entries: readonly E[], uri: string): UriReadings<E> {
  const forms = uriForms(uri);
  const sure = entries.filter(({ globs }) => globs.some((glob) => allowMatchesUri(glob, forms)));
  const all = entries.filter(({ globs }) => globs.some((glob) => denyMatchesUri(glob, forms)));
  if (all.length === sure.length) return { sure, possible: undefined };
  const each = forms.normal === undefined ? [[], ...all.map((one) => [one])] : inEach(all, new Set(sure), forms);
  return { sure, possible: [all, ...each] };
}

function inEach<E extends Named>(all: readonly E[], sure: ReadonlySet<E>, forms: UriForms): readonly (readonly E[])[] {
  const under = (matches: (glob: UriGlob) => boolean): readonly E[] =>
    all.filter((entry) => sure.has(entry) || entry.globs.some(matches));
  return [
    under(({ raw }) => raw.matches(forms.raw)),
    ...forms.readings.map((uri) => under(({ normal, canonical }) => normal.matches(uri) || canonical.matches(uri))),
  ];
}
