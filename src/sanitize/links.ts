import { isJsonObject, readOwn, type Json, type JsonObject } from "../model/json.ts";

/** Whose links are given another address, and which. */
export interface LinkRules {
  /** The origin that a link must begin with, character by character. */
  readonly origin: string;
  /** The address to put in a link's place; undefined leaves it. */
  readonly addressFor: (url: string) => string | undefined;
  /** How many links are looked at; later ones stay. */
  readonly linksMax: number;
}

/**
 * Gives links in a result's content their public address: the `uri` of resource links, and URLs within text blocks.
 * Embedded resources, other blocks, keys and `_meta` stay as they are: a document is not edited, and a URI that
 * names what is embedded is a name. The same reference when nothing had to be changed.
 *
 * Content is what `tools/call` has in `content` and `prompts/get` in `messages`.
 */
export function rewriteContentLinks(result: JsonObject, rules: LinkRules): JsonObject {
  const rewriter = new LinkRewriter(rules);
  const content = replaced(result, "content", (value) => rewriter.blocks(value));
  return replaced(content, "messages", (value) =>
    mapped(value, (message) =>
      isJsonObject(message) ? replaced(message, "content", (block) => rewriter.blocks(block)) : message,
    ),
  );
}

/** The same for structured content: strings that are a link and nothing else. They stay strings, keys stay. */
export function rewriteStructuredLinks(value: Json, rules: LinkRules): Json {
  return new LinkRewriter(rules).strings(value);
}

/**
 * URIs of the resources that a result names, as links or by embedding them, in the order in which they stand: in the
 * content of `tools/call`, the messages of `prompts/get` and the contents of `resources/read`.
 */
export function resourcesNamedIn(result: JsonObject): ReadonlySet<string> {
  const named = new Set<string>();
  for (const block of listed(readOwn(result, "content"))) addNamed(named, block);
  for (const message of listed(readOwn(result, "messages")))
    for (const block of listed(readOwn(message, "content"))) addNamed(named, block);
  for (const resource of listed(readOwn(result, "contents"))) addUri(named, resource);
  return named;
}

/** A list, or what stands where one of a single element may stand without it. */
function listed(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function addNamed(named: Set<string>, block: Json): void {
  const type = readOwn(block, "type");
  if (type === "resource_link") addUri(named, block);
  if (type === "resource") addUri(named, readOwn(block, "resource"));
}

function addUri(named: Set<string>, resource: Json | undefined): void {
  const uri = readOwn(resource, "uri");
  if (typeof uri === "string") named.add(uri);
}

/** Characters of a URL that text around it does not use: no quotes, brackets, `;` or `#`. */
const urlRun = /[A-Za-z0-9._~!$&*+,=:@/?%-]+/y;
/** Before a URL that stands by itself: not within a longer word, a URL with another scheme, or another URL's query. */
const continues = /[A-Za-z0-9+.\-=&?/#%:@_~]/;

class LinkRewriter {
  readonly #rules: LinkRules;
  #looked = 0;

  constructor(rules: LinkRules) {
    this.#rules = rules;
  }

  /** One content block, or a list of them. */
  blocks(value: Json): Json {
    if (Array.isArray(value)) return mapped(value, (block) => this.#block(block));
    return this.#block(value);
  }

  strings(value: Json): Json {
    if (typeof value === "string") return this.#whole(value);
    if (Array.isArray(value)) return mapped(value, (element) => this.strings(element));
    if (!isJsonObject(value)) return value;
    const changed = Object.entries(value).map(([key, member]) => [key, this.strings(member)] as const);
    return changed.some(([key, member]) => member !== value[key]) ? Object.fromEntries(changed) : value;
  }

  #block(block: Json): Json {
    if (!isJsonObject(block)) return block;
    const type = readOwn(block, "type");
    if (type === "resource_link")
      return replaced(block, "uri", (uri) => this.#asText(uri, (text) => this.#whole(text)));
    if (type === "text") return replaced(block, "text", (text) => this.#asText(text, (whole) => this.#within(whole)));
    return block;
  }

  #asText(value: Json, rewrite: (text: string) => string): Json {
    return typeof value === "string" ? rewrite(value) : value;
  }

  #whole(text: string): string {
    if (!text.startsWith(`${this.#rules.origin}/`) || this.#looked >= this.#rules.linksMax) return text;
    this.#looked += 1;
    return this.#rules.addressFor(text) ?? text;
  }

  #within(text: string): string {
    const start = `${this.#rules.origin}/`;
    let written = "";
    let from = 0;
    for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, from)) {
      urlRun.lastIndex = at;
      // A sentence's end is legal in a URL, and hardly ever part of one.
      const url = (urlRun.exec(text)?.[0] ?? start).replace(/[.,!:?*]+$/, "");
      const isInside = at > 0 && continues.test(text.charAt(at - 1));
      written += text.slice(from, at) + (isInside ? url : this.#whole(url));
      from = at + url.length;
    }
    return from === 0 ? text : written + text.slice(from);
  }
}

function mapped(value: Json, change: (element: Json) => Json): Json {
  if (!Array.isArray(value)) return value;
  const changed = value.map(change);
  return changed.some((element, index) => element !== value[index]) ? changed : value;
}

/** The object with one member changed; the same object when the member is absent or stays as it is. */
function replaced(object: JsonObject, key: string, change: (value: Json) => Json): JsonObject {
  const value = readOwn(object, key);
  const changed = value === undefined ? undefined : change(value);
  return changed === undefined || changed === value ? object : { ...object, [key]: changed };
}
