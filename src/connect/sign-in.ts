import { limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { sendPage, sendRedirect } from "../web/page.ts";
import { pageTarget } from "./paths.ts";
import { signInPage } from "./pages.ts";
import type { PasswordWay, SignedIn, SignInWay } from "./port.ts";
import { sendRefusal } from "./visit.ts";
import type { ConnectRoom, Visit } from "./visit.ts";

/** The page for whoever is not signed in. Somebody whom a link was made for is shown the ways of their issuer alone. */
export function askToSignIn(room: ConnectRoom, visit: Visit, issuer: string | undefined): void {
  const fitting = room.ways.filter((way) => way.issuer === issuer);
  sendSignIn(visit, {
    ways: fitting.length === 0 ? room.ways : fitting,
    target: pageTarget(visit.url.pathname + visit.url.search),
  });
}

/** Takes the form with a password. The count of attempts is the authorization server's own. */
export async function signInHere(room: ConnectRoom, visit: Visit, fields: URLSearchParams): Promise<void> {
  const way = wayOf(room, fields.get("way"), "password");
  if (way === undefined) {
    sendRefusal(room, visit, refuse("CONNECT_FORM_REFUSED", { reason: "no such way" }).refusal);
    return;
  }
  const target = pageTarget(fields.get("target"));
  const username = fields.get("username") ?? "";
  const address = visit.req.socket.remoteAddress ?? "";
  const answer = await way.check({ username, password: fields.get("password") ?? "", address });
  if (answer.kind === "signed-in") {
    await enter(room, visit, answer.who, target);
    return;
  }
  const { status, problem, retrySeconds } = problems[answer.kind];
  room.log("connect.sign-in-failed", { reason: answer.kind, address });
  if (retrySeconds > 0) visit.res.setHeader("retry-after", retrySeconds);
  sendSignIn(visit, { ways: [way], target, username, problem }, status);
}

const problems = {
  wrong: { status: 403, retrySeconds: 0, problem: "The user name or the password is wrong." },
  limited: {
    status: 429,
    retrySeconds: Math.ceil(limits.oauthSignInWindowMs / 1_000),
    problem: "There were too many attempts. Wait a quarter of an hour and try again.",
  },
  busy: { status: 503, retrySeconds: 1, problem: "Many people are signing in right now. Try again in a moment." },
} as const;

/** Sends the browser to a provider. It changes nothing here but this browser's own cookie, so a link may do it. */
export async function signInElsewhere(room: ConnectRoom, visit: Visit): Promise<void> {
  const way = wayOf(room, visit.url.searchParams.get("way"), "provider");
  if (way === undefined) {
    askToSignIn(room, visit, undefined);
    return;
  }
  const state = room.attempts.newState();
  const begun = await way.begin(state);
  if (!begun.ok) {
    sendRefusal(room, visit, begun.refusal);
    return;
  }
  const target = pageTarget(visit.url.searchParams.get("target"));
  room.attempts.keep(visit, state, { way: way.id, kept: begun.value.kept, target });
  sendRedirect(visit.res, begun.value.url);
}

/** Where the provider sends the browser back to. Another browser has no attempt under way, and is refused. */
export async function finishSignIn(room: ConnectRoom, visit: Visit): Promise<void> {
  const [state = "", ...more] = visit.url.searchParams.getAll("state");
  const attempt = more.length === 0 ? room.attempts.take(visit, state) : undefined;
  const way = attempt === undefined ? undefined : wayOf(room, attempt.way, "provider");
  if (attempt === undefined || way === undefined) {
    sendRefusal(room, visit, refuse("CONNECT_ATTEMPT_LOST", { what: "sign-in" }).refusal);
    return;
  }
  const { kept, target } = attempt;
  const finished = await way.finish({ state, kept, parameters: visit.url.searchParams });
  if (finished.ok) await enter(room, visit, finished.value, target);
  else sendRefusal(room, visit, finished.refusal);
}

async function enter(room: ConnectRoom, visit: Visit, who: SignedIn, target: string): Promise<void> {
  const { tenant, issuer, subject } = who.person;
  const since = room.now();
  if (await room.isDenied(who.person)) {
    sendRefusal(room, visit, refuse("SIGNIN_DENIED", { tenant, issuer, subject }).refusal);
    return;
  }
  await room.sessions.signIn(visit.browser, visit.res, { who, since });
  room.log("connect.signed-in", { tenant, issuer, subject });
  sendRedirect(visit.res, target);
}

interface Asked {
  readonly ways: readonly SignInWay[];
  readonly target: string;
  readonly username?: string;
  readonly problem?: string;
}

function sendSignIn({ res, browser }: Visit, asked: Asked, status = 200): void {
  const { ways, target, username = "", problem } = asked;
  sendPage(res, status, signInPage({ token: browser.formToken, ways, target, username, problem }));
}

function wayOf(room: ConnectRoom, id: string | null, kind: "password"): PasswordWay | undefined;
function wayOf(
  room: ConnectRoom,
  id: string | null,
  kind: "provider",
): Extract<SignInWay, { kind: "provider" }> | undefined;
function wayOf(room: ConnectRoom, id: string | null, kind: SignInWay["kind"]): SignInWay | undefined {
  return room.ways.find((way) => way.id === id && way.kind === kind);
}
