import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JWTPayload } from "jose";
import { createRelyingParty } from "../../src/signin/relying-party.ts";
import type { RelyingParty, RelyingPartyOptions } from "../../src/signin/relying-party.ts";
import { limits } from "../../src/model/limits.ts";
import { createGuardedFetch } from "../../src/upstream/egress.ts";
import { mockIssuer, sign, signer } from "../auth/mock-issuer.ts";
import type { MockIssuer, Signer } from "../auth/mock-issuer.ts";

/** What the mock does differently from a good OpenID provider; changed at will between steps. */
export interface Behaviour {
  /** Members of the metadata document that replace the good ones; undefined takes one away. */
  metadata: Record<string, unknown>;
  /** Claims of the ID token that replace the good ones; undefined takes one away. */
  claims: Record<string, unknown>;
  idTokenHeader: Record<string, unknown>;
  signer: Signer | undefined;
  /** Whole ID token in place of the signed one; `null`: none. */
  idToken: string | null | undefined;
  userInfo: Record<string, unknown> | number;
  /** What the token endpoint answers instead: a status and an OAuth error. */
  tokenError: { status: number; error: string } | undefined;
  tokenStatus: number | undefined;
  refreshToken: string | undefined;
}

export interface MockProvider {
  readonly http: MockIssuer;
  readonly issuer: string;
  readonly key: Signer;
  readonly behaviour: Behaviour;
  /** Forms that the token endpoint got, with its Authorization header. */
  readonly exchanges: { form: URLSearchParams; authorization: string | undefined }[];
  /** Signs Ada in for this authorization URL and returns the parameters that the browser brings back. */
  approve(url: string): URLSearchParams;
  party(changes?: Partial<RelyingPartyOptions>): RelyingParty;
  close(): Promise<void>;
}

export const clientId = "gateway at corp";
export const clientSecret = "s3cret of the gateway";
export const callback = "https://gateway.example/connect/callback";

export async function startProvider(): Promise<MockProvider> {
  const http = await mockIssuer();
  const key = await signer("k1");
  const issuer = http.origin;
  const behaviour: Behaviour = {
    metadata: {},
    claims: {},
    idTokenHeader: {},
    signer: undefined,
    idToken: undefined,
    userInfo: { sub: "ada", name: "Ada L", groups: ["staff"] },
    tokenError: undefined,
    tokenStatus: undefined,
    refreshToken: "refresh-1",
  };
  const codes = new Map<string, { challenge: string; nonce: string; redirectUri: string }>();
  const exchanges: MockProvider["exchanges"] = [];
  http.places.set("/.well-known/openid-configuration", (_req: IncomingMessage, res: ServerResponse) => {
    const good = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"],
      id_token_signing_alg_values_supported: ["ES256"],
      authorization_response_iss_parameter_supported: true,
    };
    json(res, 200, { ...good, ...behaviour.metadata });
  });
  http.places.set("/jwks", { keys: [key.jwk] });
  http.places.set("/userinfo", (_req: IncomingMessage, res: ServerResponse) => {
    if (typeof behaviour.userInfo === "number") json(res, behaviour.userInfo, { error: "server_error" });
    else json(res, 200, behaviour.userInfo);
  });
  const answerToken = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await textOf(req));
    exchanges.push({ form, authorization: req.headers.authorization });
    if (behaviour.tokenStatus !== undefined) {
      res.writeHead(behaviour.tokenStatus, { "content-type": "text/html" }).end("<p>overloaded");
      return;
    }
    if (behaviour.tokenError !== undefined) {
      json(res, behaviour.tokenError.status, { error: behaviour.tokenError.error });
      return;
    }
    const code = codes.get(form.get("code") ?? "");
    const refreshing = form.get("grant_type") === "refresh_token";
    codes.delete(form.get("code") ?? "");
    const proven =
      code?.challenge === digest(form.get("code_verifier") ?? "") && code.redirectUri === form.get("redirect_uri");
    if (!refreshing && !proven) {
      json(res, 400, { error: "invalid_grant" });
      return;
    }
    json(res, 200, await tokensFor(refreshing ? undefined : code?.nonce));
  };
  const tokensFor = async (nonce: string | undefined): Promise<object> => {
    const now = Math.floor(Date.now() / 1_000);
    const good = { iss: issuer, sub: "ada", aud: clientId, iat: now, exp: now + 300, nonce };
    const claims = { ...good, name: "Ada L", groups: ["staff", "leads"], ...behaviour.claims } as JWTPayload;
    const idToken = behaviour.idToken ?? (await sign(behaviour.signer ?? key, claims, behaviour.idTokenHeader));
    return {
      access_token: "access",
      token_type: "Bearer",
      expires_in: 300,
      ...(behaviour.idToken === null ? {} : { id_token: idToken }),
      ...(behaviour.refreshToken === undefined ? {} : { refresh_token: behaviour.refreshToken }),
    };
  };
  http.places.set("/token", (req: IncomingMessage, res: ServerResponse) => void answerToken(req, res));
  return {
    http,
    issuer,
    key,
    behaviour,
    exchanges,
    approve: (url) => {
      const asked = new URL(url).searchParams;
      const code = randomBytes(16).toString("hex");
      codes.set(code, {
        challenge: asked.get("code_challenge") ?? "",
        nonce: asked.get("nonce") ?? "",
        redirectUri: asked.get("redirect_uri") ?? "",
      });
      return new URLSearchParams({ code, state: asked.get("state") ?? "", iss: issuer });
    },
    party: (changes = {}) =>
      createRelyingParty({
        issuer,
        clientId,
        clientSecret,
        scopes: ["profile", "offline_access"],
        groupsClaim: "groups",
        subjectFrom: "sub",
        fetch: createGuardedFetch({ allow: "loopback", timeoutMs: 2_000, bytesMax: 65_536 }),
        now: Date.now,
        random: randomBytes,
        limits,
        ...changes,
      }),
    close: () => http.close(),
  };
}

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function json(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function digest(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}
