import { createHmac, timingSafeEqual } from "node:crypto";
import type Provider from "oidc-provider";
import type { Client, Interaction } from "oidc-provider";
import { limits } from "../model/limits.ts";
import { sendPage } from "../web/page.ts";
import { isDocumentClientId } from "./client-document.ts";
import {
  deniedPage,
  findInteraction,
  finishInteraction,
  leaveOtherSession,
  lostPage,
  signedInAt,
} from "./interaction.ts";
import type { PageRequest } from "./interaction.ts";
import type { AuthServerOptions, LogEvent, RegisteredClient } from "./options.ts";
import { consentPage, signInPage } from "./pages.ts";
import type { ConsentForm, FormContext } from "./pages.ts";
import { signInWithPassword } from "./password-sign-in.ts";
import type { CheckPassword } from "./passwords.ts";
import { paths } from "./paths.ts";
import type { People } from "./people.ts";
import type { GrantRecords } from "./port.ts";
import { redirectTarget } from "./redirects.ts";

export interface SignInContext {
  readonly provider: Provider;
  readonly publicUrl: string;
  readonly people: People;
  readonly clients: readonly RegisteredClient[];
  readonly records: GrantRecords;
  readonly checkPassword: CheckPassword;
  readonly isDenied: (subject: string) => Promise<boolean>;
  /** Sends the browser to the company's provider; undefined where people sign in here, with passwords. */
  readonly goToProvider: ((request: PageRequest, loginHint: string | undefined) => Promise<void>) | undefined;
  /** Sign the token that each form carries: the first signs, and what the others signed is taken still. */
  readonly formKeys: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: LogEvent;
}

/** The part of the options that the pages need, so that `create.ts` passes it on whole. */
export type SignInOptions = Pick<AuthServerOptions, "publicUrl" | "clients" | "records" | "log">;

interface Ongoing {
  readonly interaction: Interaction;
  readonly client: Client;
  readonly form: FormContext;
}

/** The sign-in or consent page of an authorization under way in this browser. */
export async function showInteraction(context: SignInContext, request: PageRequest): Promise<void> {
  const ongoing = await findOngoing(context, request);
  if (ongoing === undefined) {
    sendPage(request.res, 403, lostPage());
  } else if (ongoing.interaction.prompt.name !== "login") {
    await showConsent(context, request, ongoing);
  } else if (context.goToProvider !== undefined) {
    await context.goToProvider(request, loginHint(ongoing.interaction));
  } else {
    const username = loginHint(ongoing.interaction) ?? "";
    sendPage(request.res, 200, signInPage({ ...ongoing.form, username, problem: undefined }));
  }
}

/**
 * Takes a form of ours. It must come from the browser that began the authorization: the library's
 * signed cookie says which interaction is this browser's, and the form's token that the page was
 * ours (403 otherwise). Every consent is asked for anew, for this client and this sign-in alone.
 */
export async function submitInteraction(
  context: SignInContext,
  request: PageRequest,
  fields: URLSearchParams,
): Promise<void> {
  const ongoing = await findOngoing(context, request);
  if (ongoing === undefined || !isOwnForm(context, ongoing.interaction, fields)) {
    context.log("authserver.form-refused", { known: ongoing !== undefined });
    sendPage(request.res, 403, lostPage());
  } else if (fields.get("action") !== "go") {
    await deny(ongoing, request, "The user declined.");
  } else if (ongoing.interaction.prompt.name !== "login") {
    await consent(context, request, ongoing);
  } else if (context.goToProvider !== undefined) {
    sendPage(request.res, 403, lostPage());
  } else {
    await signIn(context, request, ongoing, fields);
  }
}

async function signIn(
  context: SignInContext,
  request: PageRequest,
  ongoing: Ongoing,
  fields: URLSearchParams,
): Promise<void> {
  const username = fields.get("username") ?? "";
  const password = fields.get("password") ?? "";
  const address = request.req.socket.remoteAddress ?? "";
  const since = context.now();
  const answer = await signInWithPassword(context, { username, password, address });
  const retry = (status: number, problem: string): void => {
    sendPage(request.res, status, signInPage({ ...ongoing.form, username, problem }));
  };
  if (answer.kind === "limited") {
    context.log("authserver.sign-in-limited", { address });
    request.res.setHeader("retry-after", Math.ceil(limits.oauthSignInWindowMs / 1_000));
    retry(429, "There were too many attempts. Wait a quarter of an hour and try again.");
  } else if (answer.kind === "busy") {
    request.res.setHeader("retry-after", 1);
    retry(503, "Many people are signing in right now. Try again in a moment.");
  } else if (answer.kind === "wrong") {
    context.log("authserver.sign-in-failed", { address });
    retry(403, "The user name or the password is wrong.");
  } else {
    await enter(context, request, ongoing, { subject: answer.user.subject, since });
  }
}

async function enter(
  context: SignInContext,
  request: PageRequest,
  { interaction, client: { clientId } }: Ongoing,
  { subject, since }: { readonly subject: string; readonly since: number },
): Promise<void> {
  if (await context.isDenied(subject)) {
    context.log("authserver.sign-in-denied", { clientId });
    sendPage(request.res, 403, deniedPage());
    return;
  }
  context.log("authserver.signed-in", { subject, clientId });
  await leaveOtherSession(context.provider, request, { interaction, subject });
  await finishInteraction(interaction, request.res, { login: signedInAt(subject, since) });
}

/** What the library found missing is already what this person may have; with nothing left there is nothing to ask. */
async function showConsent(context: SignInContext, request: PageRequest, ongoing: Ongoing): Promise<void> {
  const { interaction, client, form } = ongoing;
  const person = await context.people.find(interaction.session?.accountId ?? "");
  const access = accessAsked(interaction);
  if (access.length === 0) {
    context.log("authserver.nothing-permitted", { clientId: client.clientId, known: person !== undefined });
    await deny(ongoing, request, "None of the requested scopes is permitted to this person.");
    return;
  }
  const page = consentPage({
    ...form,
    userName: person?.name ?? "",
    origin: originOf(client, context.clients),
    access,
  });
  sendPage(request.res, 200, page);
}

async function consent(context: SignInContext, { res }: PageRequest, ongoing: Ongoing): Promise<void> {
  const { interaction, client } = ongoing;
  const accountId = interaction.session?.accountId;
  if (accountId === undefined) {
    sendPage(res, 403, lostPage());
    return;
  }
  const grant = new context.provider.Grant({ accountId, clientId: client.clientId });
  for (const { resource, scopes } of accessAsked(interaction)) grant.addResourceScope(resource, scopes.join(" "));
  const grantId = await grant.save();
  context.log("authserver.consented", { subject: accountId, clientId: client.clientId });
  await finishInteraction(interaction, res, { ...interaction.lastSubmission, consent: { grantId } });
}

function deny({ interaction }: Ongoing, { res }: PageRequest, description: string): Promise<void> {
  return finishInteraction(interaction, res, { error: "access_denied", error_description: description });
}

async function findOngoing(context: SignInContext, request: PageRequest): Promise<Ongoing | undefined> {
  const interaction = await findInteraction(context.provider, request);
  if (interaction?.uid !== request.uid) return undefined;
  const { client_id: clientId, redirect_uri: redirectUri } = interaction.params;
  if (typeof clientId !== "string" || typeof redirectUri !== "string") return undefined;
  const client = await context.provider.Client.find(clientId);
  const target = redirectTarget(redirectUri);
  if (client === undefined || target === undefined) return undefined;
  const action = `${paths.interaction}/${request.uid}`;
  const token = formToken(context.formKeys[0] ?? "", interaction);
  return { interaction, client, form: { action, token, target, clientName: client.clientName ?? client.clientId } };
}

/** Who says what the client is called: its operator's configuration, a document at some host, or the client itself. */
function originOf({ clientId }: Client, registered: readonly RegisteredClient[]): ConsentForm["origin"] {
  if (registered.some((known) => known.clientId === clientId)) return { kind: "configured" };
  return isDocumentClientId(clientId) ? { kind: "document", host: new URL(clientId).host } : { kind: "itself" };
}

function loginHint(interaction: Interaction): string | undefined {
  const hint = interaction.params["login_hint"];
  return typeof hint === "string" ? hint : undefined;
}

/** What the library found not yet granted: resource to scopes. */
function accessAsked(interaction: Interaction): readonly { resource: string; scopes: readonly string[] }[] {
  const missing = interaction.prompt.details["missingResourceScopes"];
  if (typeof missing !== "object" || missing === null) return [];
  return Object.entries(missing).map(([resource, scopes]: [string, unknown]) => ({
    resource,
    scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : [],
  }));
}

function formToken(formKey: string, interaction: Interaction): string {
  return createHmac("sha256", formKey).update(`form:${interaction.prompt.name}:${interaction.uid}`).digest("base64url");
}

/** A form that was shown before the key was replaced is ours still. */
function isOwnForm({ formKeys }: SignInContext, interaction: Interaction, fields: URLSearchParams): boolean {
  const presented = Buffer.from(fields.get("token") ?? "");
  return formKeys.some((key) => {
    const expected = Buffer.from(formToken(key, interaction));
    return presented.byteLength === expected.byteLength && timingSafeEqual(presented, expected);
  });
}
