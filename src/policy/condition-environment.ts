import { Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import type { Principal } from "../model/principal.ts";
import { ConditionFault, listWeight } from "./argument-view.ts";
import { charge, countedCharsPerStep, patternCharsPerStep, textCost } from "./meter.ts";
import type { Meter } from "./meter.ts";
import type { Subject } from "./question.ts";
import type { OwnFunctions } from "./quick-condition.ts";

/** Longest text that `int()`, `double()`, `bool()`, `timestamp()` and `duration()` read. */
const convertedTextCharsMax = 64;

/** `principal` as conditions see it. `issuer` is the configured alias, as in `who`. */
export class PrincipalFacts {
  readonly tenant: string;
  readonly issuer: string;
  readonly kind: string;
  readonly subject: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  readonly claims: ReadonlyMap<string, unknown>;

  constructor(principal: Principal, claims: ReadonlyMap<string, unknown>) {
    this.tenant = principal.tenant;
    this.issuer = principal.issuerAlias;
    this.kind = principal.kind;
    this.subject = principal.subject;
    this.groups = principal.groups;
    this.scopes = principal.scopes;
    this.claims = claims;
  }
}

/** `client`: the `client_id` the token was issued to, never what a client says of itself. */
export class ClientFacts {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

/** `server`: the virtual server's name. */
export class ServerFacts {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/**
 * `item`: the upstream's own identity, and what operators say of it. The three texts are empty for an exchange that
 * concerns no item.
 */
export class SubjectFacts {
  readonly upstream: string;
  readonly kind: string;
  readonly name: string;
  readonly labels: readonly string[];
  readonly annotations: ReadonlyMap<string, unknown>;

  constructor(item: Subject | undefined, labels: readonly string[], annotations: ReadonlyMap<string, unknown>) {
    this.upstream = item?.upstream ?? "";
    this.kind = item?.kind ?? "";
    this.name = item?.name ?? "";
    this.labels = labels;
    this.annotations = annotations;
  }
}

/** `request`: when and how it came. */
export class RequestFacts {
  readonly now: Date;
  readonly transport: string;
  readonly era: string;
  readonly revision: string;
  constructor(request: { now: number; transport: string; era: string; revision: string }) {
    this.now = new Date(request.now);
    this.transport = request.transport;
    this.era = request.era;
    this.revision = request.revision;
  }
}

/** The language as its authors write it: for the type check alone. */
export function writtenEnvironment(): Environment {
  return withVariables(new Environment({ homogeneousAggregateLiterals: false }));
}

/** The language as it runs: with our functions in place of the library's. */
export function runningEnvironment(functions: OwnFunctions): Environment {
  const environment = withVariables(new Environment({ homogeneousAggregateLiterals: false }));
  for (const [name, signature] of signatures) {
    const handler = functions.get(name);
    if (handler !== undefined) environment.registerFunction(name + signature, handler, { async: false });
  }
  return environment;
}

const signatures: ReadonlyMap<string, string> = new Map([
  ["bounded", "(dyn): dyn"],
  ["isObject", "(dyn): bool"],
  ["short", "(dyn): dyn"],
  ["sizeOf", "(dyn): int"],
  ["textContains", "(dyn, dyn): bool"],
  ["textMatches", "(dyn, dyn): bool"],
  ["textLower", "(dyn): string"],
  ["textUpper", "(dyn): string"],
]);

/** Our functions, by name. `patterns` holds the compiled form of every pattern that a `matches` names. */
export function ownFunctions(meter: Meter, patterns: Patterns, listItemsMax: number): OwnFunctions {
  const functions = {
    bounded: (value: unknown) => bounded(value, meter, listItemsMax),
    isObject,
    short,
    sizeOf: (value: unknown) => sizeOf(value, meter),
    textContains: (subject: unknown, part: unknown) => {
      const [text, wanted] = [textOf(subject), textOf(part)];
      return charge(meter, textCost(text)) && text.includes(wanted);
    },
    textMatches: (subject: unknown, pattern: unknown) => {
      const text = textOf(subject);
      return charge(meter, 1 + Math.floor(text.length / patternCharsPerStep)) && patterns.find(textOf(pattern), text);
    },
    textLower: (subject: unknown) => recased(textOf(subject), meter, (s) => s.toLowerCase()),
    textUpper: (subject: unknown) => recased(textOf(subject), meter, (s) => s.toUpperCase()),
  };
  return new Map(Object.entries(functions));
}

export interface Patterns {
  /** Compiles a pattern; the problem as text when it is no RE2 pattern. */
  add(pattern: string): string | undefined;
  find(pattern: string, text: string): boolean;
}

/** Patterns of the loaded policy. RE2 syntax; a match may lie anywhere in the text, as CEL defines `matches`. */
export function newPatterns(): Patterns {
  const compiled = new Map<string, RE2JS>();
  return {
    add: (pattern) => {
      try {
        compiled.set(pattern, RE2JS.compile(pattern));
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : "not a pattern";
      }
    },
    find: (pattern, text) => {
      const engine = compiled.get(pattern);
      if (engine === undefined) throw new ConditionFault("a pattern was not compiled");
      return engine.test(text);
    },
  };
}

function withVariables(environment: Environment): Environment {
  const text = "string";
  const texts = "list<string>";
  const item = { upstream: text, kind: text, name: text, labels: texts };
  const principal = { tenant: text, issuer: text, kind: text, subject: text, groups: texts, scopes: texts };
  return environment
    .registerType("Principal", { ctor: PrincipalFacts, fields: { ...principal, claims: "map<string, dyn>" } })
    .registerType("Client", { ctor: ClientFacts, fields: { id: text } })
    .registerType("Server", { ctor: ServerFacts, fields: { name: text } })
    .registerType("Item", { ctor: SubjectFacts, fields: { ...item, annotations: "map<string, dyn>" } })
    .registerType("Request", {
      ctor: RequestFacts,
      fields: { now: "google.protobuf.Timestamp", transport: text, era: text, revision: text },
    })
    .registerVariable("principal", "Principal")
    .registerVariable("client", "Client")
    .registerVariable("server", "Server")
    .registerVariable("item", "Item")
    .registerVariable("request", "Request")
    .registerVariable("args", "dyn");
}

/** What a loop or `in` runs over. Lists are charged with their contents; maps charge for themselves. */
function bounded(value: unknown, meter: Meter, listItemsMax: number): unknown {
  if (!Array.isArray(value)) return value;
  if (value.length > listItemsMax) throw new ConditionFault("a list has too many entries");
  return charge(meter, listWeight(value)) ? value : [];
}

/**
 * What `has` looks into. The library finds no field in a text or a number and says so, where the language errs (CEL
 * specification, "Field Selection"): a deny must not be led around by a value of another type than it expects.
 */
function isObject(value: unknown): boolean {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return true;
  throw new ConditionFault("has() looks into objects alone");
}

function short(value: unknown): unknown {
  if (typeof value === "string" && value.length > convertedTextCharsMax) {
    throw new ConditionFault("the text is too long to be converted");
  }
  return value;
}

/** CEL's `size`: code points of a text, entries of a list or map. */
function sizeOf(value: unknown, meter: Meter): bigint {
  if (typeof value === "string")
    return charge(meter, 1 + Math.floor(value.length / countedCharsPerStep)) ? BigInt(codePoints(value)) : 0n;
  if (Array.isArray(value)) return BigInt(value.length);
  if (value instanceof Map) return BigInt(value.size);
  // A map that the condition itself writes out.
  if (typeof value === "object" && value !== null) return BigInt(Object.keys(value).length);
  throw new ConditionFault("size() takes a text, a list or a map");
}

function codePoints(text: string): number {
  let pairs = 0;
  for (let index = 1; index < text.length; index += 1) {
    const isLow = (text.charCodeAt(index) & 0xfc00) === 0xdc00;
    if (isLow && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) pairs += 1;
  }
  return text.length - pairs;
}

/** CEL's `lowerAscii` and `upperAscii` leave everything but ASCII letters alone; the library's do not. */
function recased(text: string, meter: Meter, change: (ascii: string) => string): string {
  return charge(meter, 1 + Math.floor(text.length / countedCharsPerStep)) ? text.replace(/[A-Za-z]+/g, change) : "";
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new ConditionFault("a text function was given something else");
  return value;
}
