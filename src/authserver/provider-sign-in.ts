import type Provider from "oidc-provider";
import type { Interaction } from "oidc-provider";
import { messagePage, sendPage, sendRedirect } from "../web/page.ts";
import type { Page } from "../web/page.ts";
import { browserOf, nameBrowser } from "./browser-cookie.ts";
import type { BrokeredPeople } from "./brokered-people.ts";
import { finishInteraction, leaveOtherSession, lostPage, type PageRequest } from "./interaction.ts";
import type { Broker, LogEvent } from "./options.ts";
import { paths } from "./paths.ts";
import type { ProviderFinished } from "./port.ts";
import { endAttempt, keepAttempt, newState, readAttempt, type AttemptStore } from "./provider-attempts.ts";

export interface ProviderSignInContext {
  readonly library: Provider;
  readonly broker: Broker;
  readonly people: BrokeredPeople;
  readonly attempts: AttemptStore;
  readonly publicUrl: string;
  /** Subjects that would read as somebody else's: services, and people of assertion issuers. */
  readonly isReserved: (subject: string) => boolean;
  readonly log: LogEvent;
}

/** Sends the browser of an authorization under way to the company's provider. */
export async function goToProvider(
  context: ProviderSignInContext,
  { req, res, uid }: PageRequest,
  loginHint: string | undefined,
): Promise<void> {
  const state = newState();
  const begun = await context.broker.provider.begin({ redirectUri: callbackUri(context), state, loginHint });
  if (!begun.ok) {
    context.log("authserver.provider-unavailable", { reason: begun.reason });
    res.setHeader("retry-after", 5);
    sendPage(res, 503, failedPage({ ok: false, reason: "unavailable" }));
    return;
  }
  const browser = nameBrowser(req, res, context.publicUrl);
  await keepAttempt(context.attempts, state, { uid, browser, kept: begun.kept });
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
  const attempt = more.length === 0 ? await readAttempt(context.attempts, state) : undefined;
  const sameBrowser = attempt?.browser === browserOf(request.req, context.publicUrl);
  if (attempt === undefined || !sameBrowser || !(await endAttempt(context.attempts, state))) {
    context.log("authserver.callback-refused", { known: attempt !== undefined, sameBrowser });
    sendPage(request.res, 403, lostPage());
    return;
  }
  const redirectUri = callbackUri(context);
  const finished = await context.broker.provider.finish({ redirectUri, state, kept: attempt.kept, parameters });
  await settle(context, request, { uid: attempt.uid, finished });
}

async function settle(
  context: ProviderSignInContext,
  { req, res }: Omit<PageRequest, "uid">,
  { uid, finished }: { readonly uid: string; readonly finished: ProviderFinished },
): Promise<void> {
  if (!finished.ok) {
    context.log("authserver.provider-refused", { reason: finished.reason });
    sendPage(res, finished.reason === "unavailable" ? 503 : 403, failedPage(finished));
    return;
  }
  const { subject } = finished.person;
  const interaction: Interaction | undefined = await context.library.Interaction.find(uid);
  if (context.isReserved(subject) || interaction?.prompt.name !== "login") {
    context.log("authserver.provider-refused", { reason: interaction === undefined ? "interaction-gone" : "subject" });
    sendPage(res, 403, lostPage());
    return;
  }
  await context.people.remember(finished.person);
  context.log("authserver.signed-in", { subject });
  await leaveOtherSession(context.library, { req, res }, { interaction, subject });
  await finishInteraction(interaction, res, { login: { accountId: subject, remember: false } });
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
