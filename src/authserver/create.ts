import type { IncomingMessage, ServerResponse } from "node:http";
import { errors } from "oidc-provider";
import type { Client } from "oidc-provider";
import type Provider from "oidc-provider";
import { StoreUnavailable } from "../model/records.ts";
import { setCommonHeaders } from "../web/page.ts";
import { allowAnyOrigin, sendError, sendJson, sendMethodRefused, sendNotFound, sendPreflight } from "./answer.ts";
import { createBrokeredPeople, type BrokeredPeople } from "./brokered-people.ts";
import { createClientDocuments, type ClientDocuments } from "./client-documents.ts";
import { createEndpoints } from "./endpoints.ts";
import type { Endpoints } from "./endpoints.ts";
import { serverMetadata } from "./metadata.ts";
import type { AuthServer, AuthServerOptions } from "./options.ts";
import { signInWithPassword } from "./password-sign-in.ts";
import { createPasswordCheck } from "./passwords.ts";
import { admittedPeople } from "./people-admitted.ts";
import { localPeople } from "./people.ts";
import { findPlace } from "./paths.ts";
import type { Place } from "./paths.ts";
import { createProvider } from "./provider.ts";
import { redirectSchemes } from "./redirects.ts";
import { configuredSigningKeys, sharedSigningKeys } from "./signing-keys.ts";
import type { SigningKeys, SigningKeySource } from "./signing-keys.ts";

export type { AuthServer, AuthServerOptions, DemoUser, ProtectedResource, RegisteredClient } from "./options.ts";

/**
 * The optional built-in authorization server: authorization code with PKCE, refresh, client
 * credentials, identity assertions, registration by request and by metadata document (RFC 6749, 7523, 7591,
 * 7636, 8414, 8707, 9068, 9207). Rejects when the options cannot work, with `StoreUnavailable` when the signing
 * keys cannot be read, and with `StartRefused` when they rest under another secret.
 * Access tokens are self-contained: revoking a grant ends its refresh tokens, and the access tokens
 * of its last `accessTokenSeconds` live on.
 */
export async function createAuthServer(options: AuthServerOptions): Promise<AuthServer> {
  checkOptions(options);
  const signingKeys = await openSigningKeys(options);
  const brokered = brokeredPeople(options);
  const people = admittedPeople(brokered ?? localPeople(options.users, options.scopesByGroup), options.isDenied);
  const checkPassword = await createPasswordCheck(brokered === undefined ? options.users : []);
  const documents = clientDocuments(options);
  const furnish = async (signing: SigningKeys): Promise<Room> => {
    const provider = createProvider({ options, signing, people, documents });
    for (const { clientId } of options.clients) await provider.Client.find(clientId);
    return { provider, endpoints: createEndpoints({ options, provider, people, brokered, checkPassword }) };
  };
  const rooms = createRooms(signingKeys, furnish);
  await rooms.current();
  const publicKeys = (): PublicKeys => {
    // Whoever only verifies has to hear of new keys as well, and waits for nothing: the next are published long before.
    signingKeys.current().catch(() => undefined);
    return { keys: [...signingKeys.held().publicKeys] };
  };
  const metadata = serverMetadata(options);
  return {
    issuer: options.publicUrl,
    handles: (path) => isOurs(findPlace(path, options.resources), brokered),
    publicKeys,
    signIn: (attempt) => signInWithPassword({ records: options.records, checkPassword }, attempt),
    clientName: async (clientId) => (await findClient((await rooms.current()).provider, clientId))?.clientName,
    idTokenOf: async (subject) => brokered?.idTokenOf(subject),
    handle: async (req, res) => {
      try {
        setCommonHeaders(res);
        const place = findPlace(pathOf(req), options.resources);
        if (place?.kind === "metadata") sendDocument(req, res, metadata);
        else if (place?.kind === "keys") sendDocument(req, res, publicKeys());
        else await answer({ req, res, place, endpoints: (await rooms.current()).endpoints });
      } catch (error) {
        options.log("authserver.fault", { path: pathOf(req).slice(0, 64), fault: faultName(error) });
        sendFault(res, error);
      }
    },
  };
}

type PublicKeys = ReturnType<AuthServer["publicKeys"]>;

/** The library and what answers with it. Its keys are fixed when it is made, so keys that change make another. */
interface Room {
  readonly provider: Provider;
  readonly endpoints: Endpoints;
}

/** The room for the keys of now. All that it knows of people, clients and grants is in the store, and goes on. */
function createRooms(
  signingKeys: SigningKeySource,
  furnish: (signing: SigningKeys) => Promise<Room>,
): { current(): Promise<Room> } {
  let made: { readonly signing: SigningKeys; readonly room: Promise<Room> } | undefined;
  return {
    current: async () => {
      const signing = await signingKeys.current();
      if (made?.signing !== signing) made = { signing, room: furnish(signing) };
      return made.room;
    },
  };
}

async function openSigningKeys({
  secrets,
  records,
  log,
  now = Date.now,
}: AuthServerOptions): Promise<SigningKeySource> {
  const { jwks, cookieKeys } = secrets;
  if (jwks !== undefined) return configuredSigningKeys(jwks.keys);
  return sharedSigningKeys({ records, sealingKeys: cookieKeys, now, log });
}

/** Without a provider nobody is sent back from one. */
function isOurs(place: Place | undefined, brokered: BrokeredPeople | undefined): boolean {
  return place !== undefined && (place.kind !== "callback" || brokered !== undefined);
}

/** A client whose metadata document cannot be read has no name. */
async function findClient(provider: Provider, clientId: string): Promise<Client | undefined> {
  try {
    return await provider.Client.find(clientId);
  } catch (error) {
    if (error instanceof errors.OIDCProviderError) return undefined;
    throw error;
  }
}

function brokeredPeople(options: AuthServerOptions): BrokeredPeople | undefined {
  if (options.broker === undefined) return undefined;
  const { records, log, scopesByGroup, now = Date.now } = options;
  return createBrokeredPeople({ ...options.broker, records, log, scopesByGroup, now });
}

function clientDocuments(options: AuthServerOptions): ClientDocuments | undefined {
  const { fetchPublic: fetch, resources, records, log, now = Date.now } = options;
  if (fetch === undefined) return undefined;
  return createClientDocuments({
    fetch,
    rules: { schemes: redirectSchemes(options.redirectSchemes), resources },
    records,
    log,
    now,
  });
}

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly place: Exclude<Place, { readonly kind: "metadata" } | { readonly kind: "keys" }> | undefined;
  readonly endpoints: Endpoints;
}

async function answer({ req, res, place, endpoints }: Exchange): Promise<void> {
  if (place === undefined || place.kind === "nowhere") {
    allowAnyOrigin(res);
    sendNotFound(res);
  } else if (place.kind === "interaction") {
    await answerBrowser(endpoints, { req, res, uid: place.uid });
  } else if (place.kind === "authorize" || place.kind === "resume" || place.kind === "callback") {
    await answerNavigation(endpoints[place.kind], req, res);
  } else {
    allowAnyOrigin(res);
    if (req.method === "POST") await endpoints[place.kind](req, res);
    else if (req.method === "OPTIONS") sendPreflight(res, "POST");
    else sendMethodRefused(res, "POST");
  }
}

async function answerNavigation(
  endpoint: Endpoints["callback"],
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (endpoint === undefined) sendNotFound(res);
  else if (req.method === "GET") await endpoint(req, res);
  else sendMethodRefused(res, "GET");
}

async function answerBrowser(
  endpoints: Endpoints,
  { req, res, uid }: { readonly req: IncomingMessage; readonly res: ServerResponse; readonly uid: string },
): Promise<void> {
  if (req.method === "GET") await endpoints.showPage(req, res, uid);
  else if (req.method === "POST") await endpoints.submitPage(req, res, uid);
  else sendMethodRefused(res, "GET, POST");
}

function sendDocument(req: IncomingMessage, res: ServerResponse, document: object): void {
  allowAnyOrigin(res);
  if (req.method === "OPTIONS") sendPreflight(res, "GET");
  else if (req.method === "GET" || req.method === "HEAD") sendJson(res, 200, document);
  else sendMethodRefused(res, "GET");
}

function checkOptions({ publicUrl, secrets, resources }: AuthServerOptions): void {
  const url = new URL(publicUrl);
  if (url.origin !== publicUrl) throw new Error(`publicUrl must be an origin without a path, found "${publicUrl}"`);
  const loopback = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol !== "https:" && !loopback) {
    throw new Error("publicUrl must be https: signing in over plain http is for loopback addresses only");
  }
  if (secrets.cookieKeys.length === 0 || secrets.cookieKeys.some((key) => key.length < 16)) {
    throw new Error("cookieKeys needs at least one key, of at least 16 characters each");
  }
  if (resources.length === 0) throw new Error("the authorization server needs at least one server to issue tokens for");
}

function sendFault(res: ServerResponse, error: unknown): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  if (error instanceof StoreUnavailable) {
    res.setHeader("retry-after", 1);
    sendError(res, 503, { error: "temporarily_unavailable", error_description: "Try again shortly." });
  } else {
    sendError(res, 500, { error: "server_error", error_description: "The authorization server failed." });
  }
}

function faultName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? "/").split("?")[0] ?? "/";
}
