import type { IncomingMessage, ServerResponse } from "node:http";
import type { Refusal } from "../model/refusal.ts";
import { sendPage } from "../web/page.ts";
import type { Browser, BrowserSessions } from "./browser-sessions.ts";
import type { ConnectLinks } from "./links.ts";
import type { ConnectOptions } from "./options.ts";
import { refusalPage } from "./pages.ts";
import type { Person, SignedIn } from "./port.ts";
import type { SignInAttempts } from "./sign-in-attempts.ts";

/** What every page works with. */
export interface ConnectRoom extends ConnectOptions {
  readonly sessions: BrowserSessions;
  readonly attempts: SignInAttempts;
  readonly links: ConnectLinks;
}

/** One request to a page. */
export interface Visit {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Path and query, on `publicUrl`: nothing is read from `Host`. */
  readonly url: URL;
  readonly browser: Browser;
}

/** The same by somebody who is signed in. */
export interface OwnVisit extends Visit {
  readonly who: SignedIn;
}

/** Whether a person's stay that began at `since` (milliseconds since the epoch) is over: they are denied, or were since. */
export async function isOver(
  { isDenied, hasEnded }: Pick<ConnectOptions, "isDenied" | "hasEnded">,
  person: Person,
  since: number,
): Promise<boolean> {
  const [denied, ended] = await Promise.all([isDenied(person), hasEnded(person, since)]);
  return denied || ended;
}

/** Renders a refusal by the gateway's one table, which counts and logs it. */
export function sendRefusal(
  room: ConnectRoom,
  visit: Pick<Visit, "req" | "res">,
  refusal: Refusal,
  who?: Browser,
): void {
  const { status, text, ref } = room.says(refusal, visit.req.socket.remoteAddress ?? "");
  const title = status >= 500 ? "This does not work at the moment" : "This was refused";
  if (status === 503) visit.res.setHeader("retry-after", 1);
  const signOutToken = who?.who === undefined ? undefined : who.formToken;
  sendPage(visit.res, status, refusalPage({ title, text, ref, signOutToken }));
}
