import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errors } from "oidc-provider";
import type Provider from "oidc-provider";
import type { Client, Interaction, InteractionResults } from "oidc-provider";
import { limits } from "../model/limits.ts";
import { sendRedirect } from "./answer.ts";
import { countSignIn } from "./attempts.ts";
import type { AuthServerOptions, DemoUser, LogEvent, RegisteredClient } from "./options.ts";
import { consentPage, messagePage, signInPage } from "./pages.ts";
import type { FormContext, Page } from "./pages.ts";
import type { CheckPassword } from "./passwords.ts";
import { paths } from "./paths.ts";
import type { GrantRecords } from "./port.ts";
import { redirectTarget } from "./redirects.ts";

export interface SignInContext {
  readonly provider: Provider;
  readonly publicUrl: string;
  readonly users: readonly DemoUser[];
  readonly clients: readonly RegisteredClient[];
  readonly records: GrantRecords;
  readonly checkPassword: CheckPassword;
  /** Signs the token that each form carries. */
  readonly formKey: string;
  readonly log: LogEvent;
}

/** One request to a page of ours. `req` is the copy made for the library, which reads its cookies. */
export interface PageRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly uid: string;
}

/** The part of the options that the pages need, so that `create.ts` passes it on whole. */
export type SignInOptions = Pick<AuthServerOptions, "publicUrl" | "users" | "clients" | "records" | "log">;

interface Ongoing {
  readonly interaction: Interaction;
  readonly client: Client;
  readonly form: FormContext;
}

/** The sign-in or consent page of an authorization under way in this browser. */
export async function showInteraction(context: SignInContext, request: PageRequest): Promise<void> {
  const ongoing = await findOngoing(context, request);
  if (ongoing === undefined) sendPage(request.res, 403, lostPage());
  else sendPage(request.res, 200, pageFor(context, ongoing, undefined));
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
  if (ongoing === undefined || !isToken(fields.get("token") ?? "", ongoing.form.token)) {
    context.log("authserver.form-refused", { known: ongoing !== undefined });
    sendPage(request.res, 403, lostPage());
  } else if (fields.get("action") !== "go") {
    await finish(ongoing, request.res, { error: "access_denied", error_description: "The user declined." });
  } else if (ongoing.interaction.prompt.name === "login") {
    await signIn(context, request, ongoing, fields);
  } else {
    await consent(context, request, ongoing);
  }
}

async function signIn(
  context: SignInContext,
  request: PageRequest,
  ongoing: Ongoing,
  fields: URLSearchParams,
): Promise<void> {
  const username = fields.get("username") ?? "";
  const address = request.req.socket.remoteAddress ?? "";
  const attempt = await countSignIn(context.records, { username, address });
  const retry = (status: number, problem: string): void => {
    sendPage(request.res, status, signInPage({ ...ongoing.form, username, problem }));
  };
  if (attempt === undefined) {
    context.log("authserver.sign-in-limited", { address });
    request.res.setHeader("retry-after", Math.ceil(limits.oauthSignInWindowMs / 1_000));
    retry(429, "There were too many attempts. Wait a quarter of an hour and try again.");
    return;
  }
  const user = await context.checkPassword(username, fields.get("password") ?? "");
  if (user === "busy") {
    await attempt.forget();
    request.res.setHeader("retry-after", 1);
    retry(503, "Many people are signing in right now. Try again in a moment.");
  } else if (user === undefined) {
    context.log("authserver.sign-in-failed", { address });
    retry(403, "The user name or the password is wrong.");
  } else {
    await attempt.forget();
    context.log("authserver.signed-in", { subject: user.subject, clientId: ongoing.client.clientId });
    await leaveOtherSession(context, request, ongoing.interaction, user);
    await finish(ongoing, request.res, { login: { accountId: user.subject, remember: false } });
  }
}

/**
 * Ends the browser's session when somebody else signs in over it. Left to itself the library would
 * answer with a self-submitting page of its own here.
 */
async function leaveOtherSession(
  { provider }: SignInContext,
  { req, res }: PageRequest,
  interaction: Interaction,
  user: DemoUser,
): Promise<void> {
  const session = await provider.Session.get(provider.createContext(req, res));
  if (session.accountId === undefined || session.accountId === user.subject) return;
  await session.destroy();
  interaction.session = undefined;
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
  await finish(ongoing, res, { ...interaction.lastSubmission, consent: { grantId } });
}

async function finish({ interaction }: Ongoing, res: ServerResponse, result: InteractionResults): Promise<void> {
  interaction.result = result;
  await interaction.persist();
  sendRedirect(res, interaction.returnTo);
}

async function findOngoing(context: SignInContext, { req, res, uid }: PageRequest): Promise<Ongoing | undefined> {
  const interaction = await findInteraction(context.provider, req, res);
  if (interaction?.uid !== uid) return undefined;
  const { client_id: clientId, redirect_uri: redirectUri } = interaction.params;
  if (typeof clientId !== "string" || typeof redirectUri !== "string") return undefined;
  const client = await context.provider.Client.find(clientId);
  const target = redirectTarget(redirectUri);
  if (client === undefined || target === undefined) return undefined;
  const action = `${paths.interaction}/${uid}`;
  const token = formToken(context.formKey, interaction);
  return { interaction, client, form: { action, token, target, clientName: client.clientName ?? client.clientId } };
}

async function findInteraction(
  provider: Provider,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<Interaction | undefined> {
  try {
    return await provider.interactionDetails(req, res);
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}

function pageFor(context: SignInContext, { interaction, client, form }: Ongoing, problem: string | undefined): Page {
  if (interaction.prompt.name === "login") {
    const hint = interaction.params["login_hint"];
    return signInPage({ ...form, username: typeof hint === "string" ? hint : "", problem });
  }
  const user = context.users.find(({ subject }) => subject === interaction.session?.accountId);
  return consentPage({
    ...form,
    userName: user?.name ?? "",
    selfRegistered: !context.clients.some(({ clientId }) => clientId === client.clientId),
    access: accessAsked(interaction),
  });
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

function isToken(presented: string, expected: string): boolean {
  const [left, right] = [Buffer.from(presented), Buffer.from(expected)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}

function lostPage(): Page {
  return messagePage(
    "This sign-in cannot be continued",
    "It was begun in another browser, has expired, or is already finished. Start again from the application.",
  );
}

export function sendPage(res: ServerResponse, status: number, page: Page): void {
  res.statusCode = status;
  for (const [name, value] of Object.entries(page.headers)) res.setHeader(name, value);
  res.end(page.markup);
}
