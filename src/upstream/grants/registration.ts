import { allowInsecureRequests, customFetch, dynamicClientRegistrationRequest } from "oauth4webapi";
import type { JsonValue } from "oauth4webapi";
import { createHash } from "node:crypto";
import { readOwn, readOwnString, type JsonObject } from "../../model/json.ts";
import type { RecordKey } from "../../model/records.ts";
import { ok, type Result } from "../../model/result.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { createSingleFlight } from "../single-flight.ts";
import { overTheNetwork, unusable } from "./faults.ts";
import type { GrantsOptions } from "./options.ts";
import { profileOf, type ClientMethod } from "./profiles.ts";
import { readDocument, readStrings } from "./read-document.ts";
import type { Target } from "./targets.ts";

/** What the gateway is to an authorization server. */
export interface RegisteredClient {
  readonly id: string;
  readonly secret: string | undefined;
  readonly method: ClientMethod;
  readonly kind: "configured" | "document" | "dynamic";
}

export interface Registrations {
  clientFor(target: Target, redirectUri: string): Promise<Result<RegisteredClient>>;
  /** A registration that the server no longer knows; the next `clientFor` registers anew. */
  lost(target: Target, redirectUri: string, clientId: string): Promise<void>;
  /** Keeps a registration that grants hang on, although nothing is asked of the server. */
  inUse(issuer: string, redirectUri: string): Promise<void>;
}

/**
 * The gateway's registration at an authorization server, in the order of 2026-07-28 (authorization, "Client
 * Registration"): configured by hand, the client id metadata document where the server takes such, dynamic (RFC
 * 7591). What a server gave out is kept sealed under its issuer and the redirect URI, so it reaches no other
 * server; of two replicas that register at once, one registration is kept.
 *
 * Refuses with UPSTREAM_AUTHORIZATION_UNUSABLE (`no-registration`, `registration-refused`) and the network's codes.
 */
export function createRegistrations(options: GrantsOptions): Registrations {
  const { records, sealer, limits, now } = options;
  const flight = createSingleFlight<Result<RegisteredClient>>();

  /** It is written anew, under the key that is current, so that an earlier one can be given up. */
  const kept = async (place: Place): Promise<RegisteredClient | undefined> => {
    const sealed = await records.get(place.key);
    const text = sealed === undefined ? undefined : sealer.open(place.associated, sealed);
    const client = text === undefined ? undefined : readKept(text, now());
    if (sealed !== undefined && text !== undefined && client !== undefined)
      await records.replace(place.key, sealed, sealer.seal(place.associated, text), limits.grantIdleMs);
    return client;
  };
  const register = async (target: Target, redirectUri: string): Promise<Result<RegisteredClient>> => {
    const place = placeOf(target.server.issuer, redirectUri);
    const before = await kept(place);
    if (before !== undefined) return ok(before);
    const made = await askForRegistration(target, metadataFor(options, target, redirectUri));
    if (!made.ok) return made;
    const sealed = sealer.seal(place.associated, JSON.stringify(made.value));
    const first = await records.setIfAbsent(place.key, sealed, limits.grantIdleMs);
    const winner = first ? undefined : await kept(place);
    if (winner !== undefined) return ok(winner);
    if (!first) await records.set(place.key, sealed, limits.grantIdleMs);
    return ok(clientOf(made.value));
  };

  return {
    clientFor: async (target, redirectUri) => {
      const { client } = target.options;
      if (client !== undefined) return ok({ ...client, method: methodFor(target, client.secret), kind: "configured" });
      const url = options.clientDocumentUrl;
      if (target.server["client_id_metadata_document_supported"] === true && url !== undefined)
        return ok({ id: url, secret: undefined, method: "none", kind: "document" });
      if (target.server.registration_endpoint === undefined) return unusable(target.upstream, "no-registration");
      const { key } = placeOf(target.server.issuer, redirectUri);
      return flight.run(JSON.stringify(key), () => register(target, redirectUri));
    },
    lost: async (target, redirectUri, clientId) => {
      const place = placeOf(target.server.issuer, redirectUri);
      for (let tries = 0; tries < losingTriesMax; tries += 1) {
        const sealed = await records.get(place.key);
        const text = sealed === undefined ? undefined : sealer.open(place.associated, sealed);
        const current = text === undefined ? undefined : readKept(text, now());
        // Another replica may have registered anew meanwhile: that registration stays.
        if (sealed === undefined || current?.id !== clientId) return;
        // The same client may meanwhile have been sealed anew, by whoever uses it still.
        if (await records.replace(place.key, sealed, "gone", 1)) return;
      }
      throw new Error("a registration is used faster than it can be given up");
    },
    inUse: async (issuer, redirectUri) => {
      await kept(placeOf(issuer, redirectUri));
    },
  };
}

const losingTriesMax = 10;

interface Place {
  readonly key: RecordKey;
  readonly associated: string;
}

function placeOf(issuer: string, redirectUri: string): Place {
  const parts = JSON.stringify(["client", issuer, redirectUri]);
  return { key: ["grant-client", "default", createHash("sha256").update(parts).digest("hex")], associated: parts };
}

interface Metadata extends Record<string, JsonValue> {
  readonly redirect_uris: [string];
}

function metadataFor({ clientName }: GrantsOptions, target: Target, redirectUri: string): Metadata {
  return {
    client_name: clientName,
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    application_type: "web",
    token_endpoint_auth_method: methodFor(target, "to come"),
  };
}

/** Confidential where the server lets it be; what is unstated is the profile's to know. */
function methodFor({ server, options }: Target, secret: string | undefined): ClientMethod {
  if (secret === undefined) return "none";
  const offered = server.token_endpoint_auth_methods_supported;
  if (offered === undefined) return profileOf(options.profile).unstatedMethod;
  if (offered.includes("client_secret_basic")) return "client_secret_basic";
  return offered.includes("client_secret_post") ? "client_secret_post" : "none";
}

interface Kept {
  readonly id: string;
  readonly secret: string | undefined;
  readonly method: ClientMethod;
  /** Milliseconds since the epoch; 0: never. */
  readonly expiresAt: number;
}

async function askForRegistration(target: Target, metadata: Metadata): Promise<Result<Kept>> {
  const { upstream, server, fetch } = target;
  const answer = await overTheNetwork(upstream, async () => {
    const options = { [customFetch]: fetch, [allowInsecureRequests]: true };
    const response = await dynamicClientRegistrationRequest(server, metadata, options);
    return { status: response.status, document: await readDocument(response) };
  });
  if (!answer.ok) return answer;
  const { status, document } = answer.value;
  // RFC 7591 §3.2.1 says 201; servers in the field answer 200 as well.
  if ((status !== 200 && status !== 201) || document === undefined)
    return unusable(upstream, "registration-refused", { status: String(status) });
  const made = readRegistration(document, target, metadata.redirect_uris[0]);
  return made === undefined ? unusable(upstream, "registration-invalid") : ok(made);
}

function readRegistration(document: JsonObject, target: Target, redirectUri: string): Kept | undefined {
  const id = readOwnString(document, "client_id");
  const secret = readOwnString(document, "client_secret");
  // A server that registered other redirect URIs would refuse ours only once the person is there.
  const uris = readStrings(document, "redirect_uris", 20);
  if (id === undefined || id === "" || (uris !== undefined && !uris.includes(redirectUri))) return undefined;
  const stated = readOwnString(document, "token_endpoint_auth_method");
  const method = secret === undefined ? "none" : (methodNamed(stated) ?? methodFor(target, secret));
  const expires = readOwn(document, "client_secret_expires_at");
  return { id, secret, method, expiresAt: typeof expires === "number" && expires > 0 ? expires * 1_000 : 0 };
}

function methodNamed(text: string | undefined): ClientMethod | undefined {
  return (["client_secret_basic", "client_secret_post", "none"] as const).find((method) => method === text);
}

function clientOf({ id, secret, method }: Kept): RegisteredClient {
  return { id, secret, method, kind: "dynamic" };
}

/** Our own writing, so what has no such shape is a fault of ours and as if it were not there. */
function readKept(text: string, now: number): RegisteredClient | undefined {
  const parsed = parseJsonText(text);
  const value = parsed.ok ? parsed.value : undefined;
  const id = readOwnString(value, "id");
  const method = methodNamed(readOwnString(value, "method"));
  const expiresAt = readOwn(value, "expiresAt");
  if (id === undefined || method === undefined || typeof expiresAt !== "number") return undefined;
  if (expiresAt !== 0 && expiresAt <= now) return undefined;
  return { id, secret: readOwnString(value, "secret"), method, kind: "dynamic" };
}
