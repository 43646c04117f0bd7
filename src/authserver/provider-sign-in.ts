import type Provider from "oidc-provider";
import type { Interaction } from "oidc-provider";
import { limits } from "../model/limits.ts";
import { messagePage, sendPage, sendRedirect } from "../web/page.ts";
import type { Page } from "../web/page.ts";
import type { BrokeredPeople } from "./brokered-people.ts";
import { digestOf } from "./digest.ts";
import {
  deniedPage,
  finishInteraction,
  leaveOtherSession,
  lostPage,
  signedInAt,
  type PageRequest,
} from "./interaction.ts";
import type { Broker, LogEvent } from "./options.ts";
import { paths } from "./paths.ts";
import type { GrantRecords, ProviderFinished, ProviderPerson } from "./port.ts";
import type { ProviderAttempts } from "./provider-attempts.ts";

export interface ProviderSignInContext {
  readonly library: Provider;
  readonly broker: Broker;
  readonly people: BrokeredPeople;
  readonly attempts: ProviderAttempts;
  readonly records: Pick<GrantRecords, "setIfAbsent">;
  readonly publicUrl: string;
  /** Subjects that would read as somebody else's: services, and people of assertion issuers. */
  readonly isReserved: (subject: string) => boolean;
  /** Who is denied is not let in, and nothing of them is kept. */
  readonly isDenied: (subject: string) => Promise<boolean>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: LogEvent;
}

/** Sends the browser of an authorization under way to the company's provider. */
export async function goToProvider(
  context: ProviderSignInContext,
  { req, res, uid }: PageRequest,
  loginHint: string | undefined,
): Promise<void> {
  const state = context.attempts.newState();
  const begun = await context.broker.provider.begin({ redirectUri: callbackUri(context), state, loginHint });
  if (!begun.ok) {
    context.log("authserver.provider-unavailable", { reason: begun.reason });
    res.setHeader("retry-after", 5);
    sendPage(res, 503, failedPage({ ok: false, reason: "unavailable" }));
    return;
  }
  context.attempts.keep({ req, res }, state, { uid, kept: begun.kept });
  sendRedirect(res, begun.url);
}

/**
 * Takes the provider's answer. It counts once, and only in the browser that was sent there: a link with somebody
 * else's answer signs nobody in (403). Which person it is, the provider's own verified answer says.
 */
export async function returnFromProvider(
  context: ProviderSignInContext,
  request: Omit<PageRequest, "uid">,
  parameters: URLSearchParams,
): Promise<void> {
  const [state = "", ...more] = parameters.getAll("state");
  const attempt = more.length === 0 ? context.attempts.take(request, state) : undefined;
  if (attempt === undefined) {
    context.log("authserver.callback-refused", { reason: "attempt-unknown" });
    sendPage(request.res, 403, lostPage());
    return;
  }
  const { uid, kept } = attempt;
  const redirectUri = callbackUri(context);
  const since = context.now();
  const finished = await context.broker.provider.finish({ redirectUri, state, kept, parameters });
  if (finished.ok) {
    await settle(context, request, { uid, state, since, person: finished.person });
  } else {
    context.log("authserver.provider-refused", { reason: finished.reason });
    sendPage(request.res, finished.reason === "unavailable" ? 503 : 403, failedPage(finished));
  }
}

interface Arrived {
  readonly uid: string;
  readonly state: string;
  /** Before the provider vouched for them, in milliseconds since the epoch. */
  readonly since: number;
  readonly person: ProviderPerson;
}

/** Nothing is written before the person is known and let in: by then it is no stranger who fills the store. */
async function settle(
  context: ProviderSignInContext,
  { req, res }: Omit<PageRequest, "uid">,
  { uid, state, since, person }: Arrived,
): Promise<void> {
  const { subject } = person;
  const refuse = (reason: string, page: Page): void => {
    context.log("authserver.provider-refused", { reason });
    sendPage(res, 403, page);
  };
  const interaction: Interaction | undefined = await context.library.Interaction.find(uid);
  if (interaction?.prompt.name !== "login") {
    refuse("interaction-gone", lostPage());
  } else if (context.isReserved(subject)) {
    refuse("subject", lostPage());
  } else if (await context.isDenied(subject)) {
    refuse("denied", deniedPage());
  } else if (!(await isFirstAnswer(context, state))) {
    refuse("answered-before", lostPage());
  } else {
    await context.people.remember(person);
    context.log("authserver.signed-in", { subject });
    await leaveOtherSession(context.library, { req, res }, { interaction, subject });
    await finishInteraction(interaction, res, { login: signedInAt(subject, since) });
  }
}

/** A code works once at the provider (RFC 6749 §4.1.2); where it does not, its attempt still does. */
function isFirstAnswer({ records }: ProviderSignInContext, state: string): Promise<boolean> {
  return records.setIfAbsent(["oauthAttempts", "default", digestOf(state)], "", limits.oauthInteractionSeconds * 1_000);
}

/** The provider's own words are not shown: whoever wrote the link to the callback may have written them. */
function failedPage(finished: Extract<ProviderFinished, { ok: false }>): Page {
  if (finished.reason === "unavailable") {
    return messagePage(
      "The sign-in cannot be reached",
      "Your company's sign-in did not answer. Try again in a moment.",
    );
  }
  const detail = finished.detail !== undefined && oauthCode.test(finished.detail) ? finished.detail : undefined;
  return messagePage(
    "You were not signed in",
    "Your company's sign-in did not confirm who you are. Start again from the application.",
    detail,
  );
}

/** An error code of RFC 6749 §4.1.2.1 and OpenID Core §3.1.2.6: never a sentence. */
const oauthCode = /^[a-z_]{1,64}$/;

function callbackUri({ publicUrl }: ProviderSignInContext): string {
  return publicUrl + paths.callback;
}
