import type { Client, KoaContextWithOIDC } from "oidc-provider";
import Provider from "oidc-provider";
import { StoreUnavailable } from "../model/records.ts";
import { isSecret } from "./client-secret.ts";
import { offerAssertionGrant } from "./assertion-grant.ts";
import type { AuthServerOptions } from "./options.ts";
import { paths } from "./paths.ts";
import { providerSettings, type ProviderParts } from "./provider-settings.ts";
import { isRegisteredRedirect } from "./redirects.ts";
import { registrationAnswer } from "./registration.ts";

/** The library, set up and corrected where its behaviour is not ours. */
export function createProvider(parts: ProviderParts): Provider {
  const { options } = parts;
  const provider = new Provider(options.publicUrl, providerSettings(parts));
  // The forwarded headers it reads are those that `requestForLibrary` writes.
  provider.proxy = true;
  correctClients(provider);
  guardAnswers(provider, options);
  offerAssertionGrant(provider, options, parts.signing);
  return provider;
}

/** The library ignores the port of loopback redirects for native clients only, and compares secrets in clear. */
function correctClients(provider: Provider): void {
  provider.Client.prototype.redirectUriAllowed = function redirectUriAllowed(this: Client, uri: string): boolean {
    return isRegisteredRedirect(this.redirectUris ?? [], uri);
  };
  provider.Client.prototype.compareClientSecret = function compareClientSecret(this: Client, secret: string): boolean {
    return this.clientSecret !== undefined && isSecret(this.clientSecret, secret);
  };
}

function guardAnswers(provider: Provider, { log }: AuthServerOptions): void {
  // Koa would print what it cannot answer; it is logged here, without its text.
  provider.silent = true;
  provider.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      log("authserver.fault", { path: ctx.path.slice(0, 64), fault: error instanceof Error ? error.name : "unknown" });
      answerFault(ctx, error);
    }
    if (ctx.path === paths.token && isPassing(ctx.body)) answerPassing(ctx);
    if (ctx.path === paths.register && ctx.status === 201) {
      const scope = ctx.query["scope"];
      ctx.body = registrationAnswer(ctx.body, typeof scope === "string" ? scope : undefined);
    }
  });
  // Emitted once the library has chosen its answer, which for a lost store is a bare 500.
  provider.on("server_error", (ctx, error) => {
    log("authserver.fault", { path: ctx.path.slice(0, 64), fault: error.name });
    if (error instanceof StoreUnavailable && ctx.method === "POST") answerFault(ctx, error);
    else if (error instanceof StoreUnavailable) ctx.status = 503;
  });
}

/** The library answers every error of a token request with 400, which clients take for their own fault. */
function isPassing(body: unknown): boolean {
  return typeof body === "object" && body !== null && "error" in body && body.error === "temporarily_unavailable";
}

function answerPassing(ctx: Pick<KoaContextWithOIDC, "status" | "set">): void {
  ctx.status = 503;
  ctx.set("retry-after", "1");
}

function answerFault(ctx: Pick<KoaContextWithOIDC, "status" | "body" | "set">, error: unknown): void {
  const passing = error instanceof StoreUnavailable;
  ctx.status = passing ? 503 : 500;
  if (passing) ctx.set("retry-after", "1");
  ctx.body = passing
    ? { error: "temporarily_unavailable", error_description: "Try again shortly." }
    : { error: "server_error", error_description: "The authorization server failed." };
}
