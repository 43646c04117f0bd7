import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { createCookie } from "../web/cookies.ts";
import type { BrowserRecords, Sealer, SignedIn } from "./port.ts";
import { readList, textsOf } from "../web/written-list.ts";

/** A browser that came, signed in or not. */
export interface Browser {
  /** What each form of this browser carries, so that no other site can send one. */
  readonly formToken: string;
  /** The tokens that its forms may carry: the above, and those of keys of before. */
  readonly formTokens: readonly string[];
  readonly who: SignedIn | undefined;
  /** When they signed in, in milliseconds since the epoch; 0 for nobody. */
  readonly since: number;
  /** Names the browser's session in records: a digest of what the cookie holds. */
  readonly digest: string;
}

export interface BrowserSessions {
  /** The browser that sent `req`; one that has no cookie yet gets it with `res`. Rejects with `StoreUnavailable`. */
  of(req: IncomingMessage, res: ServerResponse): Promise<Browser>;
  /**
   * Signs this browser in under a new id, so that nobody who knew the old one is signed in with it. `since` is a moment
   * before the person was last found to be let in: what is ended in between has ended this too.
   */
  signIn(browser: Browser, res: ServerResponse, entry: Entry): Promise<void>;
  signOut(browser: Browser, res: ServerResponse): Promise<void>;
  /**
   * Keeps a text with this session under a state that only its answer knows, for `browserAttemptMs`. Not checked: how many
   * are kept, which whoever begins them has counted.
   */
  keep(browser: Browser, state: string, text: string): Promise<void>;
  /** The text that was kept under this state, once; another state, such as a forged answer's, leaves it where it is. */
  take(browser: Browser, state: string): Promise<string | undefined>;
}

/** Somebody who signed in, and when: milliseconds since the epoch. */
interface Entry {
  readonly who: SignedIn;
  readonly since: number;
}

const idBytes = 32;
const shape = /^[A-Za-z0-9_-]{43}$/;

/**
 * Browsers by a random cookie. A record exists only for those who signed in, so that strangers fill no store; the
 * cookie's digest is its key, and it rests sealed: a copy of the store signs nobody in and tells no names.
 *
 * Not checked: whether somebody was put on the deny list, or was on it, since; the pages ask for both with every
 * request.
 */
export function createBrowserSessions(of: {
  readonly publicUrl: string;
  readonly records: BrowserRecords;
  readonly sealer: Sealer;
  /** Sign the tokens of forms: the first signs, and what the others signed is taken still. The same on all replicas. */
  readonly formKeys: readonly Uint8Array[];
  readonly random: (bytes: number) => Uint8Array;
}): BrowserSessions {
  const { records, sealer } = of;
  const cookie = createCookie(of.publicUrl, "sallyport_browser");
  const newId = (): string => Buffer.from(of.random(idBytes)).toString("base64url");
  const describe = (id: string, entry: Entry | undefined): Browser => {
    const formTokens = of.formKeys.map((key) =>
      createHmac("sha256", key).update(`connect-form:${id}`).digest("base64url"),
    );
    const [formToken = ""] = formTokens;
    return { formToken, formTokens, digest: digestOf(id), who: entry?.who, since: entry?.since ?? 0 };
  };
  // What is kept with the session needs its id and somebody who is signed in with it, so it is lost by this and ages out.
  const forget = async ({ digest }: Browser): Promise<void> => {
    await records.delete(sessionKey(digest));
  };
  return {
    of: async (req, res) => {
      const presented = cookie.read(req) ?? "";
      const id = shape.test(presented) ? presented : newId();
      if (id !== presented) cookie.set(res, id, limits.browserSessionMs);
      const digest = digestOf(id);
      const sealed = id === presented ? await records.get(sessionKey(digest)) : undefined;
      const text = sealed === undefined ? undefined : sealer.open(JSON.stringify(sessionKey(digest)), sealed);
      return describe(id, text === undefined ? undefined : readEntry(text));
    },
    signIn: async (browser, res, entry) => {
      await forget(browser);
      const id = newId();
      const key = sessionKey(digestOf(id));
      await records.set(key, sealer.seal(JSON.stringify(key), writeEntry(entry)), limits.browserSessionMs);
      cookie.set(res, id, limits.browserSessionMs);
    },
    signOut: async (browser, res) => {
      await forget(browser);
      cookie.clear(res);
    },
    keep: async (browser, state, text) => {
      const key = keptKey(browser, state);
      await records.set(key, sealer.seal(JSON.stringify(key), text), limits.browserAttemptMs);
    },
    take: async (browser, state) => {
      const key = keptKey(browser, state);
      const sealed = await records.take(key);
      return sealed === undefined ? undefined : sealer.open(JSON.stringify(key), sealed);
    },
  };
}

/** Whether a form carries the token of the browser that sent it. */
export function isOwnForm(browser: Browser, fields: URLSearchParams): boolean {
  const presented = Buffer.from(fields.get("token") ?? "");
  return browser.formTokens.some((token) => {
    const expected = Buffer.from(token);
    return presented.byteLength === expected.byteLength && timingSafeEqual(presented, expected);
  });
}

function writeEntry({ who: { person, name, groups }, since }: Entry): string {
  return JSON.stringify([since, person.tenant, person.issuer, person.subject, name, ...groups]);
}

/** Authentic, so our own writing. */
function readEntry(text: string): Entry | undefined {
  const [since, ...texts] = readList(text);
  const [tenant, issuer, subject, name, ...groups] = textsOf(texts);
  if (tenant === undefined || issuer === undefined || subject === undefined || name === undefined) return undefined;
  return typeof since === "number" ? { who: { person: { tenant, issuer, subject }, name, groups }, since } : undefined;
}

/** Read before anybody is known, so under no tenant of their own. */
function sessionKey(digest: string): RecordKey {
  return ["browser-session", "default", digest];
}

function keptKey({ digest }: Browser, state: string): RecordKey {
  return ["browser-grant", "default", digestOf(JSON.stringify([digest, state]))];
}

function digestOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}
