/** Of what every call has exactly one: the values of which a rule needs one. What it does not name is absent. */
export type Traits = ReadonlyMap<string, readonly string[]>;

export interface Candidate {
  readonly traits: Traits;
  /** One of them begins every name that the rule matches. */
  readonly beginnings: readonly string[];
}

/** What was added, arranged so that few are looked at to find those that may meet another one at some call. */
export interface Candidates<C extends Candidate> {
  add(candidate: C): void;
  /** The first that `fits`, of those that may meet `candidate`. Others are looked at too, but never one is left out. */
  find(candidate: Candidate, fits: (one: C) => boolean): C | undefined;
}

interface Trait<C> {
  /** Those that do not name it. */
  readonly silent: C[];
  readonly values: Map<string, C[]>;
}

interface Arranged<C> {
  readonly all: C[];
  readonly traits: Map<string, Trait<C>>;
  /** By their beginnings, and by everything that a beginning begins with. */
  readonly at: Map<string, C[]>;
  readonly under: Map<string, C[]>;
}

const traitNames: readonly string[] = ["server", "upstream", "issuer", "subject", "client", "tenant", "kind"];
/** Of longer beginnings so many characters are told apart. */
const beginningCharsMax = 64;

export function newCandidates<C extends Candidate>(): Candidates<C> {
  const arranged: Arranged<C> = {
    all: [],
    traits: new Map(traitNames.map((name) => [name, { silent: [], values: new Map<string, C[]>() }])),
    at: new Map(),
    under: new Map(),
  };
  return {
    add: (candidate) => {
      addTo(arranged, candidate);
    },
    find: (candidate, fits) => {
      for (const list of shortestOf(arranged, candidate)) {
        const found = list.find(fits);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

function addTo<C extends Candidate>({ all, traits, at, under }: Arranged<C>, candidate: C): void {
  all.push(candidate);
  for (const [name, { silent, values }] of traits) {
    const own = candidate.traits.get(name);
    if (own === undefined) silent.push(candidate);
    else for (const value of own) listAt(values, value).push(candidate);
  }
  for (const text of beginningsOf(candidate)) {
    listAt(at, text).push(candidate);
    for (let length = 0; length < text.length; length += 1) listAt(under, text.slice(0, length)).push(candidate);
  }
}

type Lists<C> = readonly (readonly C[])[];

/** Each way of looking finds everyone who may meet the candidate; the one that finds fewest is taken. */
function shortestOf<C extends Candidate>(arranged: Arranged<C>, candidate: Candidate): Lists<C> {
  const ways: Lists<C>[] = [[arranged.all], alike(arranged, candidate)];
  for (const [name, own] of candidate.traits) {
    const trait = arranged.traits.get(name);
    if (trait !== undefined) ways.push([trait.silent, ...own.map((value) => trait.values.get(value) ?? [])]);
  }
  return ways.reduce((best, way) => (countOf(way) < countOf(best) ? way : best));
}

/** Those of which a beginning begins one of the candidate's, or is begun by it. */
function alike<C extends Candidate>({ at, under }: Arranged<C>, candidate: Candidate): Lists<C> {
  return beginningsOf(candidate).flatMap((text) => {
    const shorter = Array.from({ length: text.length + 1 }, (_, length) => at.get(text.slice(0, length)) ?? []);
    return [...shorter, under.get(text) ?? []];
  });
}

function beginningsOf({ beginnings }: Candidate): readonly string[] {
  return beginnings.map((text) => text.slice(0, beginningCharsMax));
}

function countOf<C>(lists: Lists<C>): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}

function listAt<C>(map: Map<string, C[]>, key: string): C[] {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made: C[] = [];
  map.set(key, made);
  return made;
}
