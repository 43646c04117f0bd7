import { Ajv } from "ajv";
import type { FuncKeywordDefinition, Options, ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isJsonObject, readOwn, type JsonObject } from "../model/json.ts";
import type { SchemaCopy } from "./copy-schema.ts";
import type { Comparison } from "./exact-keywords.ts";
import { judgedApart } from "./evaluated.ts";
import { exactKeywords, sharedKeywords } from "./exact-keywords.ts";
import type { LinearPattern } from "./pattern.ts";
import { unevaluatedKeywords } from "./unevaluated-keywords.ts";

/** What is left to say when Ajv cannot compile what the copy lets through. */
export type CompileResult = { readonly validate: ValidateFunction } | { readonly cause: unknown };

/**
 * Compiles a copied schema. One fresh Ajv per schema: an instance remembers every schema by its address,
 * and one server's definitions must not be reachable from another's. With `comparison`, keywords that
 * compare numbers do so exactly, on the originals that it looks up; without, on doubles.
 */
export function compileSchema(copy: SchemaCopy, comparison: Comparison | undefined): CompileResult {
  const ajv = freshAjv(copy);
  // Ajv 8 keeps account of what was evaluated in every schema of these dialects, errs in it, and breaks over it on some.
  ajv.opts.unevaluated = false;
  const keywords = comparison === undefined ? sharedKeywords() : exactKeywords(comparison);
  for (const keyword of keywords) replaceKeyword(ajv, keyword);
  try {
    return { validate: asksForUnevaluated(copy.schema) ? compileWithAccount(ajv, copy) : ajv.compile(copy.schema) };
  } catch (cause) {
    return { cause };
  }
}

const address = "sallyport:schema";

/** What the account asks about has a validator of its own, under a definition's name that no copied one has. */
function compileWithAccount(ajv: AnyAjv, copy: SchemaCopy): ValidateFunction {
  const validators = new Map<JsonObject, ValidateFunction>();
  for (const keyword of unevaluatedKeywords(copy, (subschema) => known(validators.get(subschema))))
    replaceKeyword(ajv, keyword);
  const apart = judgedApart(copy.schema);
  const named = Object.fromEntries(apart.map((subschema, number) => [`apart-${number}`, subschema]));
  const definitions = readOwn(copy.schema, "$defs");
  ajv.addSchema({ ...copy.schema, $defs: { ...(isJsonObject(definitions) ? definitions : {}), ...named } }, address);
  for (const [number, subschema] of apart.entries())
    validators.set(subschema, known(ajv.getSchema(`${address}#/$defs/apart-${number}`)));
  return known(ajv.getSchema(address));
}

function known(validate: ValidateFunction | undefined): ValidateFunction {
  if (validate === undefined) throw new Error("a subschema that was not compiled");
  return validate;
}

/** Too often true where the words stand as content; then an account is kept that nobody asks for. */
function asksForUnevaluated(schema: unknown): boolean {
  return /"unevaluated(?:Properties|Items)"/.test(JSON.stringify(schema));
}

function replaceKeyword(ajv: AnyAjv, definition: FuncKeywordDefinition): void {
  for (const keyword of [definition.keyword].flat()) ajv.removeKeyword(keyword);
  ajv.addKeyword(definition);
}

type AnyAjv = Ajv | Ajv2019 | Ajv2020;

function freshAjv(copy: SchemaCopy): AnyAjv {
  const options = ajvOptions(copy.patterns);
  if (copy.dialect === "2020-12") return new Ajv2020(options);
  return copy.dialect === "2019-09" ? new Ajv2019(options) : new Ajv(options);
}

/**
 * Every option that decides what is accepted, or what foreign text can make happen, is stated.
 * The copy is already shaped like its dialect, so no meta-schema is compiled: that is most of the time.
 */
function ajvOptions(patterns: ReadonlyMap<string, LinearPattern>): Options {
  const regExp = Object.assign((source: string) => enforced(patterns, source), { code: "linear" });
  return {
    strict: false,
    allErrors: false,
    verbose: true,
    messages: false,
    logger: false,
    ownProperties: true,
    validateFormats: false,
    coerceTypes: false,
    useDefaults: false,
    removeAdditional: false,
    $data: false,
    discriminator: false,
    meta: false,
    validateSchema: false,
    /** Each definition is compiled once; inlined, small definitions can multiply into large code. */
    inlineRefs: false,
    unicodeRegExp: true,
    code: { regExp, optimize: false },
  };
}

/** Patterns of the copy only; anything else is a fault of the copy. */
function enforced(patterns: ReadonlyMap<string, LinearPattern>, source: string): LinearPattern {
  const pattern = patterns.get(source);
  if (pattern === undefined) throw new Error("a pattern that was not copied");
  return pattern;
}
