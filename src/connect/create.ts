import type { IncomingMessage, ServerResponse } from "node:http";
import { limits } from "../model/limits.ts";
import { StoreUnavailable } from "../model/records.ts";
import { refuse } from "../model/refusal.ts";
import type { Result } from "../model/result.ts";
import { ok } from "../model/result.ts";
import { formOf, readBody } from "../web/body.ts";
import { messagePage, sendPage, sendRedirect, setCommonHeaders } from "../web/page.ts";
import { createBrowserSessions, isOwnForm } from "./browser-sessions.ts";
import { showHome } from "./home.ts";
import { createConnectLinks } from "./links.ts";
import type { ConnectOptions } from "./options.ts";
import { finishGrant, revokeGrant, showConsent, takeConsent } from "./own-grants.ts";
import { findPlace, paths } from "./paths.ts";
import type { Place } from "./paths.ts";
import { askToSignIn, finishSignIn, signInElsewhere, signInHere } from "./sign-in.ts";
import { createSignInAttempts } from "./sign-in-attempts.ts";
import { isOver, sendRefusal } from "./visit.ts";
import type { ConnectRoom, OwnVisit, Visit } from "./visit.ts";

export interface Connect {
  /** Whether `path` (no query) belongs to this room. Everything it claims, it answers, with 404 where nothing is. */
  handles(path: string): boolean;
  /** Answers one request. The body must not have been read. Never rejects: a fault becomes a 500 or 503. */
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

/** Places that take forms and those that are opened; whatever else comes to one is refused with 405. */
const methods: Readonly<Record<Place["kind"], readonly string[]>> = {
  home: ["GET"],
  signIn: ["GET", "POST"],
  signOut: ["POST"],
  callback: ["GET"],
  granted: ["GET"],
  revoke: ["POST"],
  upstream: ["GET", "POST"],
  nowhere: [],
};

/**
 * The pages at `/connect`: a browser's own sign-in, a person's own grants at upstreams, and how to connect clients.
 * No link and no form has authority of its own: each is worth what the person who signed in in this browser may do.
 */
export function createConnect(options: ConnectOptions): Connect {
  const room: ConnectRoom = {
    ...options,
    sessions: createBrowserSessions(options),
    attempts: createSignInAttempts(options),
    links: createConnectLinks(options),
  };
  return {
    handles: (path) => findPlace(path) !== undefined,
    handle: async (req, res) => {
      try {
        setCommonHeaders(res);
        await answer(room, req, res);
      } catch (error) {
        answerFault(room, { req, res }, error);
      }
    },
  };
}

async function answer(room: ConnectRoom, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(room.publicUrl + (req.url ?? paths.home));
  const place = findPlace(url.pathname) ?? { kind: "nowhere" };
  if (place.kind === "nowhere") {
    sendPage(res, 404, messagePage("There is nothing here", "Look at the address again."));
  } else if (!methods[place.kind].includes(req.method ?? "")) {
    res.setHeader("allow", methods[place.kind].join(", "));
    sendPage(res, 405, messagePage("This does not work so", "Open the page again and use its buttons."));
  } else {
    const visit = await visitOf(room, { req, res, url });
    if (req.method === "POST") await takeForm(room, visit, place);
    else await showPage(room, visit, place);
  }
}

/** Somebody who is out, or was since they signed in, is signed out before anything is looked at. */
async function visitOf(room: ConnectRoom, arrived: Omit<Visit, "browser">): Promise<Visit> {
  const browser = await room.sessions.of(arrived.req, arrived.res);
  if (browser.who === undefined || !(await isOver(room, browser.who.person, browser.since)))
    return { ...arrived, browser };
  await room.sessions.signOut(browser, arrived.res);
  return { ...arrived, browser: { ...browser, who: undefined } };
}

async function showPage(room: ConnectRoom, visit: Visit, place: Place): Promise<void> {
  if (place.kind === "signIn") await signInElsewhere(room, visit);
  else if (place.kind === "callback") await finishSignIn(room, visit);
  else {
    const own = ownVisit(visit);
    if (own === undefined && place.kind === "granted")
      sendRefusal(room, visit, refuse("CONNECT_ATTEMPT_LOST", { what: "grant" }).refusal);
    else if (own === undefined) askToSignIn(room, visit, issuerOfLink(room, visit, place));
    else if (place.kind === "granted") await finishGrant(room, own);
    else if (place.kind === "upstream") await showConsent(room, own, place.upstream);
    else await showHome(room, own);
  }
}

/** Every form comes from a page of ours (Fetch, "Origin header") and carries the token of the browser that got it. */
async function takeForm(room: ConnectRoom, visit: Visit, place: Place): Promise<void> {
  const form = await formFrom(room, visit);
  if (!form.ok) {
    sendRefusal(room, visit, form.refusal);
  } else if (place.kind === "signIn") {
    await signInHere(room, visit, form.value);
  } else if (place.kind === "signOut") {
    await room.sessions.signOut(visit.browser, visit.res);
    sendRedirect(visit.res, paths.home);
  } else {
    const own = ownVisit(visit);
    if (own === undefined) sendRefusal(room, visit, refuse("CONNECT_FORM_REFUSED", { reason: "signed out" }).refusal);
    else if (place.kind === "upstream") await takeConsent(room, own, { upstream: place.upstream, fields: form.value });
    else await revokeGrant(room, own, form.value.get("upstream") ?? "");
  }
}

async function formFrom(room: ConnectRoom, { req, res, browser }: Visit): Promise<Result<URLSearchParams>> {
  const { origin } = req.headers;
  const body = await readBody(req, { bytesMax: limits.oauthBodyBytesMax, timeoutMs: limits.oauthBodyTimeoutMs });
  if (!body.ok) {
    // What is left of the body is not read, so the connection cannot carry another request.
    res.setHeader("connection", "close");
    return body;
  }
  if (origin !== undefined && origin !== room.publicUrl) return refuse("CONNECT_FORM_REFUSED", { reason: "origin" });
  const fields = formOf(req.headers["content-type"], body.value);
  return isOwnForm(browser, fields) ? ok(fields) : refuse("CONNECT_FORM_REFUSED", { reason: "token" });
}

function ownVisit(visit: Visit): OwnVisit | undefined {
  const { who } = visit.browser;
  return who === undefined ? undefined : { ...visit, who };
}

function issuerOfLink(room: ConnectRoom, { url }: Visit, place: Place): string | undefined {
  const link = url.searchParams.get("link");
  return link === null || place.kind !== "upstream" ? undefined : room.links.open(link, place.upstream)?.issuer;
}

function answerFault(room: ConnectRoom, visit: Pick<Visit, "req" | "res">, error: unknown): void {
  if (visit.res.headersSent) visit.res.destroy();
  else if (error instanceof StoreUnavailable)
    sendRefusal(room, visit, refuse("STORE_UNAVAILABLE", { needed: "browser session" }, { cause: error }).refusal);
  else sendRefusal(room, visit, refuse("INTERNAL_FAULT", {}, { cause: error }).refusal);
}
