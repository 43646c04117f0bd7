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
  /** Keeps one text with this session until it is let go, for `browserAttemptMs`; a later one replaces it. */
  keep(browser: Browser, text: string): Promise<void>;
  /** The kept text, left where it is. */
  kept(browser: Browser): Promise<string | undefined>;
  letGo(browser: Browser): Promise<void>;
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
  /** Signs the tokens of forms; the same on all replicas. */
  readonly formKey: Uint8Array;
  readonly random: (bytes: number) => Uint8Array;
}): BrowserSessions {
  const { records, sealer } = of;
  const cookie = createCookie(of.publicUrl, "sallyport_browser");
  const newId = (): string => Buffer.from(of.random(idBytes)).toString("base64url");
  const describe = (id: string, entry: Entry | undefined): Browser => ({
    formToken: createHmac("sha256", of.formKey).update(`connect-form:${id}`).digest("base64url"),
    digest: digestOf(id),
    who: entry?.who,
    since: entry?.since ?? 0,
  });
  const forget = async ({ digest }: Browser): Promise<void> => {
    await Promise.all([records.delete(sessionKey(digest)), records.delete(keptKey(digest))]);
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
    keep: async ({ digest }, text) => {
      const key = keptKey(digest);
      await records.set(key, sealer.seal(JSON.stringify(key), text), limits.browserAttemptMs);
    },
    kept: async ({ digest }) => {
      const key = keptKey(digest);
      const sealed = await records.get(key);
      return sealed === undefined ? undefined : sealer.open(JSON.stringify(key), sealed);
    },
    letGo: async ({ digest }) => {
      await records.delete(keptKey(digest));
    },
  };
}

/** Whether a form carries the token of the browser that sent it. */
export function isOwnForm(browser: Browser, fields: URLSearchParams): boolean {
  const [left, right] = [Buffer.from(fields.get("token") ?? ""), Buffer.from(browser.formToken)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
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

function keptKey(digest: string): RecordKey {
  return ["browser-grant", "default", digest];
}

function digestOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}
