import { ExactNumber, readOwn } from "../model/json.ts";
import type { Json } from "../model/json.ts";
import type { Principal } from "../model/principal.ts";
import { scopePattern, whoFields } from "./language.ts";
import { at, fault, isMapping, readMapping, readWords, warn } from "./read-fields.ts";
import type { Place, Words } from "./read-fields.ts";

/** The names that configuration gives to whoever may act. */
export interface WhoNames {
  readonly issuerAliases: readonly string[];
  /** Names under which issuers map claims for policy; undefined when that is not known, and not checked. */
  readonly claims?: readonly string[] | undefined;
}

/** Whom a rule is for. */
export interface Who {
  matches(principal: Principal): boolean;
  /** As `matches`, were the principal's claims such as the rule asks for. */
  mayMatch(principal: Principal): boolean;
  /** What finds the rule: every matching principal has one of its values. Undefined when nothing short does. */
  readonly lead: Lead | undefined;
  /** Scopes that it names. */
  readonly scopes: readonly string[];
  /** Claims that it names. */
  readonly claims: readonly string[];
  /** Of what every principal has exactly one: the values of which a matching principal has one. */
  readonly single: ReadonlyMap<string, readonly string[]>;
}

export interface Lead {
  readonly by: "subject" | "client" | "groups" | "tenant";
  readonly values: readonly string[];
}

/** Fields that may lead to a rule, the one that fewest principals share first. */
const leads: readonly Lead["by"][] = ["subject", "client", "groups", "tenant"];

/** Fields of `who` of which a principal has exactly one value. */
const singleFields: readonly string[] = ["issuer", "subject", "client", "tenant", "kind"];

type Test = (principal: Principal) => boolean;

/**
 * Reads `who`. Fields are all-of, lists any-of unless `all:`. Values are exact strings. Does not check
 * that a group, subject or client exists at its issuer, only that the issuer and the claims are configured.
 */
export function readWho(place: Place, value: unknown, names: WhoNames): Who | undefined {
  const { issuerAliases } = names;
  const fields = readMapping(place, value, whoFields);
  if (fields === undefined) return undefined;
  if (fields.size === 0) {
    fault(place, value, "anyone: true, or a field", "an empty `who` matches nobody");
    return undefined;
  }
  if (fields.has("anyone")) return readAnyone(place, fields);
  warnOfUnqualified(place, fields);
  const tests: Test[] = [];
  const ofClaims: Test[] = [];
  const named = new Map<string, Words>();
  for (const [name, entry] of fields) {
    const here = at(place, name);
    if (name === "claims") ofClaims.push(...readClaims(here, entry, names.claims));
    else if (whoFields.includes(name)) {
      const words = readWords(here, entry, name === "groups" || name === "scopes");
      if (words === undefined) continue;
      checkWords({ place: here, name, words: words.words, issuerAliases });
      named.set(name, words);
      tests.push(fieldTest(name, words));
    }
  }
  const claims = fields.get("claims");
  return {
    ...factsOf(named),
    claims: isMapping(claims) ? Object.keys(claims) : [],
    ...testsOf(tests, ofClaims),
  };
}

function testsOf(tests: readonly Test[], ofClaims: readonly Test[]): Pick<Who, "matches" | "mayMatch"> {
  const isSaid = tests.length + ofClaims.length > 0;
  const mayMatch = (principal: Principal): boolean => isSaid && tests.every((test) => test(principal));
  return { mayMatch, matches: (principal) => mayMatch(principal) && ofClaims.every((test) => test(principal)) };
}

function factsOf(named: ReadonlyMap<string, Words>): Pick<Who, "lead" | "scopes" | "single"> {
  const single = [...named].filter(([name]) => singleFields.includes(name));
  return {
    lead: leadOf(named),
    scopes: named.get("scopes")?.words ?? [],
    single: new Map(single.map(([name, { words }]) => [name, words])),
  };
}

function leadOf(named: ReadonlyMap<string, Words>): Lead | undefined {
  const by = leads.find((field) => named.has(field));
  const words = by === undefined ? undefined : named.get(by);
  if (by === undefined || words === undefined) return undefined;
  // Of groups that must all be there, one leads to the rule as well as any.
  return { by, values: words.all ? words.words.slice(0, 1) : words.words };
}

function readAnyone(place: Place, fields: ReadonlyMap<string, unknown>): Who | undefined {
  const here = at(place, "anyone");
  if (fields.get("anyone") !== true) {
    fault(here, fields.get("anyone"), "true", "`anyone` can only be true");
    return undefined;
  }
  if (fields.size > 1) {
    fault(place, [...fields.keys()], "anyone alone", "`anyone: true` stands alone: other fields would narrow it");
    return undefined;
  }
  return { lead: undefined, scopes: [], claims: [], single: new Map(), matches: () => true, mayMatch: () => true };
}

function warnOfUnqualified(place: Place, fields: ReadonlyMap<string, unknown>): void {
  for (const name of ["subject", "client"]) {
    if (fields.has(name) && !fields.has("issuer")) {
      const message = `two issuers may use the same ${name}: name the issuer beside it`;
      warn(at(place, name), fields.get(name), "issuer beside it", message);
    }
  }
}

interface WordCheck {
  readonly place: Place;
  readonly name: string;
  readonly words: readonly string[];
  readonly issuerAliases: readonly string[];
}

function checkWords({ place, name, words, issuerAliases }: WordCheck): void {
  for (const word of words) {
    if (name === "issuer" && !issuerAliases.includes(word)) {
      fault(place, word, `one of ${issuerAliases.join(", ")}`, "no issuer is configured under this alias");
    }
    if (name === "groups") checkGroup(place, word, issuerAliases);
    if (name === "scopes" && !scopePattern.test(word))
      fault(place, word, "a scope", "this is no scope (RFC 6749 §3.3)");
    if (name === "kind" && word !== "human" && word !== "service") {
      fault(place, word, "human or service", "a principal is human or service");
    }
  }
}

function checkGroup(place: Place, word: string, issuerAliases: readonly string[]): void {
  const qualified = issuerAliases.some((alias) => word.startsWith(`${alias}:`) && word.length > alias.length + 1);
  if (!qualified) {
    const expected = `<issuer alias>:<group>, with one of ${issuerAliases.join(", ")}`;
    fault(place, word, expected, "a group is named with the alias of the issuer that vouches for it");
  }
}

function fieldTest(name: string, words: Words): Test {
  const wanted = new Set(words.words);
  const list = words.words;
  switch (name) {
    case "issuer":
      return (principal) => wanted.has(principal.issuerAlias);
    case "subject":
      return (principal) => wanted.has(principal.subject);
    case "client":
      // An absent client_id is the empty string, which no rule can name: words are never empty.
      return (principal) => wanted.has(principal.clientId);
    case "tenant":
      return (principal) => wanted.has(principal.tenant);
    case "kind":
      return (principal) => wanted.has(principal.kind);
    case "groups":
      return words.all ? ({ groups }) => list.every((word) => groups.includes(word)) : anyGroup(wanted);
    case "scopes":
      return words.all
        ? ({ scopes }) => list.every((word) => scopes.includes(word))
        : ({ scopes }) => scopes.some((scope) => wanted.has(scope));
    default:
      return () => false;
  }
}

function anyGroup(wanted: ReadonlySet<string>): Test {
  return ({ groups }) => groups.some((group) => wanted.has(group));
}

type Scalar = string | number | boolean;

function readClaims(place: Place, value: unknown, known: readonly string[] | undefined): readonly Test[] {
  if (!isMapping(value) || Object.keys(value).length === 0) {
    fault(place, value, "a mapping of claim to value", "expected at least one claim");
    return [];
  }
  return Object.entries(value).flatMap(([claim, entry]) => {
    if (known?.includes(claim) === false) {
      const expected = known.length === 0 ? "no claim, as none is mapped" : `one of ${known.join(", ")}`;
      fault(at(place, claim), claim, expected, "no issuer maps this claim, so a deny of it would never match");
    }
    const wanted = readScalars(at(place, claim), entry);
    if (wanted === undefined) return [];
    const { all, values } = wanted;
    return [(principal: Principal) => claimMatches(readOwn(principal.claims, claim), values, all)];
  });
}

function readScalars(place: Place, entry: unknown): { all: boolean; values: readonly Scalar[] } | undefined {
  const expected = "a value, a list, {any: list} or {all: list}";
  if (isScalar(entry)) return { all: false, values: [entry] };
  let list: unknown = entry;
  let all = false;
  if (isMapping(entry)) {
    const [key, ...rest] = Object.keys(entry);
    if (rest.length > 0 || (key !== "any" && key !== "all")) {
      fault(place, entry, expected, `expected ${expected}`);
      return undefined;
    }
    all = key === "all";
    list = entry[key];
  }
  if (!Array.isArray(list) || list.length === 0 || !list.every(isScalar)) {
    fault(place, entry, expected, "expected strings, whole numbers or booleans, at least one");
    return undefined;
  }
  return { all, values: list };
}

/** Numbers are whole and exact: whether two fractions are equal depends on who printed them. */
function isScalar(value: unknown): value is Scalar {
  return (
    (typeof value === "string" && value !== "") ||
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isSafeInteger(value))
  );
}

/** A claim that is a list matches by its members. A missing claim matches nothing, `false` included. */
function claimMatches(claim: Json | undefined, values: readonly Scalar[], all: boolean): boolean {
  if (claim === undefined || claim instanceof ExactNumber) return false;
  const held: readonly Json[] = Array.isArray(claim) ? claim : [claim];
  return all ? values.every((value) => held.includes(value)) : values.some((value) => held.includes(value));
}
