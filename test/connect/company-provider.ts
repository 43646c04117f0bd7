import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { JWK } from "oidc-provider";
import { createBrowser } from "../authserver/browser.ts";

/** The company's OpenID provider: the real library, where whoever comes is the one person `signsIn` names. */
export interface CompanyProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who comes next. */
  signsIn: string;
  /** Groups by subject; somebody without an entry is no longer there. */
  readonly groups: Map<string, readonly string[]>;
  /** By subject, what UserInfo says besides: `oid`. */
  readonly more: Map<string, Readonly<Record<string, string>>>;
  /** Follows the sign-in at `url` and returns where the browser is sent back to. */
  visit(url: URL | undefined): Promise<URL>;
  close(): Promise<void>;
}

/** What a test adds to the provider. */
export interface CompanyFeatures {
  /** The private keys that it signs with, as JWKs. Absent: those of the library for development. */
  readonly keys?: readonly JWK[];
  /** Grants of the gateway's client besides those of a sign-in, which `ready` registers. */
  readonly grants?: readonly string[];
  readonly ready?: (provider: Provider) => void;
}

export async function startCompanyProvider(
  redirectUris: readonly string[],
  { keys, grants = [], ready }: CompanyFeatures = {},
): Promise<CompanyProvider> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
  const clientSecret = randomBytes(24).toString("base64url");
  const company: CompanyProvider = {
    issuer,
    clientId: "gateway",
    clientSecret,
    signsIn: "ada",
    groups: new Map([
      ["ada", ["staff"]],
      ["bob", ["sales"]],
    ]),
    more: new Map(),
    visit: async (url) => {
      const { left } = await createBrowser().open(url ?? "about:blank");
      if (left === undefined) throw new Error("the provider sent the browser nowhere");
      return left;
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => {
          resolve();
        });
        http.closeAllConnections();
      }),
  };
  const provider: Provider = new Provider(issuer, {
    ...(keys === undefined ? {} : { jwks: { keys: [...keys] } }),
    clients: [
      {
        client_id: company.clientId,
        client_secret: clientSecret,
        redirect_uris: [...redirectUris],
        grant_types: ["authorization_code", "refresh_token", ...grants],
      },
    ],
    claims: { openid: ["sub"], profile: ["name", "groups", "oid"], email: ["email", "email_verified"] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, accountId) => {
      const groups = company.groups.get(accountId);
      if (groups === undefined) return undefined;
      const claims = {
        sub: accountId,
        name: `${accountId} at Corp`,
        groups: [...groups],
        ...company.more.get(accountId),
      };
      return { accountId, claims: () => claims };
    },
    issueRefreshToken: () => Promise.resolve(true),
    loadExistingGrant: async (ctx) => {
      const { client, session } = ctx.oidc;
      const grant = new provider.Grant({ clientId: client?.clientId ?? "", accountId: session?.accountId ?? "" });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  });
  ready?.(provider);
  const callback = provider.callback();
  http.on("request", (req: IncomingMessage, res: ServerResponse) => {
    if (req.url?.startsWith("/interaction/") !== true) void callback(req, res);
    else void provider.interactionFinished(req, res, { login: { accountId: company.signsIn } });
  });
  return company;
}
