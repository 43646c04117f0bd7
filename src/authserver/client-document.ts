import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { publicKeySet } from "./client-keys.ts";
import { prepareRegistration } from "./registration.ts";
import type { RegistrationRules } from "./registration.ts";

/** Metadata of a client as the library takes it, or why the document is none that can be used. */
export type DocumentReading =
  | {
      readonly ok: true;
      readonly metadata: Readonly<Record<string, Json>>;
      /** Where its keys are; undefined where they are in `metadata`, or there are none. */
      readonly keysAt: string | undefined;
    }
  | { readonly ok: false; readonly reason: string };

/**
 * Whether a `client_id` is the URL of a metadata document (draft-ietf-oauth-client-id-metadata-document-02 §3):
 * https, a host and a path, no user information, no fragment, no dot segments, and written the one way that a URL
 * parser writes it, so that two spellings of one address are not two clients. Not checked: whether it is there.
 */
export function isDocumentClientId(clientId: string): boolean {
  if (!clientId.startsWith("https://") || clientId.length > limits.oauthRedirectUriCharsMax) return false;
  if (!URL.canParse(clientId) || clientId.includes("#") || /%2e/i.test(clientId)) return false;
  const url = new URL(clientId);
  return url.href === clientId && url.pathname.length > 1 && url.username === "" && url.password === "";
}

/**
 * Reads a metadata document (§4.1). It must name its own URL, hold no secret and none of the methods that need
 * one; redirect URIs, grants and names are taken as in a registration. Keys are those of `private_key_jwt`:
 * written out, or at an https URL, where its reader has to look for them.
 */
export function readClientDocument(clientId: string, document: Json, rules: RegistrationRules): DocumentReading {
  if (!isJsonObject(document)) return unusable("it is not a JSON object");
  if (readOwnString(document, "client_id") !== clientId) return unusable("its client_id is not its own URL");
  if (Object.hasOwn(document, "client_secret") || Object.hasOwn(document, "client_secret_expires_at")) {
    return unusable("it holds a client secret");
  }
  const method = readOwnString(document, "token_endpoint_auth_method") ?? "none";
  if (method !== "none" && method !== "private_key_jwt") {
    return unusable("its token_endpoint_auth_method is neither none nor private_key_jwt");
  }
  const registration = prepareRegistration(document, rules);
  if ("error" in registration) return unusable(registration.error_description);
  const metadata = { ...registration.metadata, token_endpoint_auth_method: method, client_id: clientId };
  if (method === "none") return { ok: true, metadata, keysAt: undefined };
  const jwks = publicKeySet(readOwn(document, "jwks"));
  if (jwks !== undefined) return { ok: true, metadata: { ...metadata, jwks }, keysAt: undefined };
  const keysAt = keysUri(document);
  if (keysAt === undefined) return unusable("private_key_jwt needs jwks with public keys, or an https jwks_uri");
  return { ok: true, metadata, keysAt };
}

function keysUri(document: JsonObject): string | undefined {
  const uri = readOwnString(document, "jwks_uri");
  return uri?.startsWith("https://") === true && URL.canParse(uri) ? uri : undefined;
}

function unusable(reason: string): DocumentReading {
  return { ok: false, reason };
}
