import type { IncomingMessage, ServerResponse } from "node:http";
import type Provider from "oidc-provider";
import { limits } from "../model/limits.ts";
import { parseJson } from "../protocol/json/parse.ts";
import { sendError } from "./answer.ts";
import { countRegistration } from "./attempts.ts";
import { prepareAuthorization } from "./authorize-query.ts";
import type { BrokeredPeople } from "./brokered-people.ts";
import { formOf, isForm, isJson, readBody } from "../web/body.ts";
import { requestForLibrary } from "./library-request.ts";
import type { AuthServerOptions } from "./options.ts";
import { messagePage, sendPage } from "../web/page.ts";
import type { CheckPassword } from "./passwords.ts";
import { paths } from "./paths.ts";
import type { People } from "./people.ts";
import { createProviderAttempts } from "./provider-attempts.ts";
import { goToProvider, returnFromProvider, type ProviderSignInContext } from "./provider-sign-in.ts";
import { redirectSchemes } from "./redirects.ts";
import { prepareRegistration } from "./registration.ts";
import { reservedSubjects } from "./reserved-subjects.ts";
import { showInteraction, submitInteraction } from "./sign-in.ts";
import type { SignInContext } from "./sign-in.ts";
import { prepareTokenForm } from "./token-form.ts";

type Endpoint = (req: IncomingMessage, res: ServerResponse) => Promise<void>;
type PageEndpoint = (req: IncomingMessage, res: ServerResponse, uid: string) => Promise<void>;

export interface Endpoints {
  readonly authorize: Endpoint;
  readonly resume: Endpoint;
  readonly token: Endpoint;
  readonly register: Endpoint;
  readonly revoke: Endpoint;
  /** Where the company's provider answers; undefined where there is none. */
  readonly callback: Endpoint | undefined;
  readonly showPage: PageEndpoint;
  readonly submitPage: PageEndpoint;
}

export interface EndpointParts {
  readonly options: AuthServerOptions;
  readonly provider: Provider;
  readonly people: People;
  /** The same people, where the company's provider vouches for them. */
  readonly brokered: BrokeredPeople | undefined;
  readonly checkPassword: CheckPassword;
}

interface Passed {
  readonly target: string;
  readonly body?: Buffer;
  readonly contentType?: string;
  readonly answer: "json" | "page";
}

const formType = "application/x-www-form-urlencoded";
const bodyBounds = { bytesMax: limits.oauthBodyBytesMax, timeoutMs: limits.oauthBodyTimeoutMs };

/** Every endpoint prepares the request, has the library answer a copy of it, and never hands over the original. */
export function createEndpoints(parts: EndpointParts): Endpoints {
  const { options, provider } = parts;
  const callback = provider.callback();
  const copyFor = (req: IncomingMessage, passed: Passed): IncomingMessage =>
    requestForLibrary(req, {
      publicUrl: options.publicUrl,
      target: passed.target,
      body: passed.body ?? Buffer.alloc(0),
      contentType: passed.contentType,
      answer: passed.answer,
    });
  const pass = (req: IncomingMessage, res: ServerResponse, passed: Passed): Promise<void> =>
    callback(copyFor(req, passed), res);
  const atProvider = providerContext(parts);
  const pages: SignInContext = {
    ...options,
    provider,
    people: parts.people,
    checkPassword: parts.checkPassword,
    isDenied: options.isDenied ?? nobodyIsDenied,
    goToProvider:
      atProvider === undefined ? undefined : (request, loginHint) => goToProvider(atProvider, request, loginHint),
    formKeys: options.secrets.cookieKeys,
    now: options.now ?? Date.now,
  };
  return {
    authorize: async (req, res) => {
      const query = prepareAuthorization(queryOf(req), options.resources);
      if (query === undefined) sendPage(res, 400, responseModePage());
      else await pass(req, res, { target: `${paths.authorize}?${query.toString()}`, answer: "page" });
    },
    resume: (req, res) => pass(req, res, { target: pathOf(req), answer: "page" }),
    token: async (req, res) => {
      const body = await bodyOf(req, res);
      if (body === undefined) return;
      const { authorization } = req.headers;
      const form = prepareTokenForm(formOf(req.headers["content-type"], body), { ...options, authorization });
      await pass(req, res, { target: paths.token, ...formBody(req, form), answer: "json" });
    },
    revoke: async (req, res) => {
      const body = await bodyOf(req, res);
      if (body === undefined) return;
      const form = formOf(req.headers["content-type"], body);
      await pass(req, res, { target: paths.revoke, ...formBody(req, form), answer: "json" });
    },
    register: async (req, res) => {
      const passed = await registration(options, req, res);
      if (passed !== undefined) await pass(req, res, passed);
    },
    callback:
      atProvider === undefined
        ? undefined
        : (req, res) => {
            const copy = copyFor(req, { target: pathOf(req), answer: "page" });
            return returnFromProvider(atProvider, { req: copy, res }, queryOf(req));
          },
    showPage: (req, res, uid) =>
      showInteraction(pages, { req: copyFor(req, { target: pathOf(req), answer: "page" }), res, uid }),
    submitPage: async (req, res, uid) => {
      if (!isSameOrigin(req, options.publicUrl)) {
        sendPage(res, 403, messagePage("This form was refused", "It was sent from another site."));
        return;
      }
      const body = await bodyOf(req, res);
      if (body === undefined) return;
      const copy = copyFor(req, { target: pathOf(req), answer: "page" });
      await submitInteraction(pages, { req: copy, res, uid }, formOf(req.headers["content-type"], body));
    },
  };
}

const nobodyIsDenied = (): Promise<boolean> => Promise.resolve(false);

function providerContext({ options, provider, brokered }: EndpointParts): ProviderSignInContext | undefined {
  const { broker, records, publicUrl, log, now = Date.now } = options;
  if (broker === undefined || brokered === undefined) return undefined;
  return {
    library: provider,
    broker,
    people: brokered,
    attempts: createProviderAttempts({ publicUrl, sealer: broker.sealer, now }),
    records,
    publicUrl,
    isReserved: reservedSubjects(options),
    isDenied: options.isDenied ?? nobodyIsDenied,
    now,
    log,
  };
}

/** The request to pass on, or undefined once the registration has been refused. */
async function registration(
  options: AuthServerOptions,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<Passed | undefined> {
  if ((await countRegistration(options.records, req.socket.remoteAddress ?? "")) === undefined) {
    res.setHeader("retry-after", Math.ceil(limits.oauthRegistrationWindowMs / 1_000));
    sendError(res, 429, { error: "temporarily_unavailable", error_description: "Too many registrations." });
    return undefined;
  }
  const body = await bodyOf(req, res);
  if (body === undefined) return undefined;
  const parsed = parseJson(body);
  if (!isJson(req.headers["content-type"]) || !parsed.ok) {
    sendError(res, 400, { error: "invalid_client_metadata", error_description: "The body must be JSON." });
    return undefined;
  }
  const schemes = redirectSchemes(options.redirectSchemes);
  const prepared = prepareRegistration(parsed.value, { schemes, resources: options.resources });
  if ("error" in prepared) {
    sendError(res, 400, prepared);
    return undefined;
  }
  return {
    // The echo travels in the query, where the answer's last touch finds it again.
    target:
      prepared.scope === undefined ? paths.register : `${paths.register}?scope=${encodeURIComponent(prepared.scope)}`,
    body: Buffer.from(JSON.stringify(prepared.metadata)),
    contentType: "application/json",
    answer: "json",
  };
}

/** Another media type stays what it was, and the library refuses it. */
function formBody(req: IncomingMessage, form: URLSearchParams): Pick<Passed, "body" | "contentType"> {
  const received = req.headers["content-type"];
  if (isForm(received)) return { body: Buffer.from(form.toString()), contentType: formType };
  return received === undefined ? {} : { contentType: received };
}

async function bodyOf(req: IncomingMessage, res: ServerResponse): Promise<Buffer | undefined> {
  const body = await readBody(req, bodyBounds);
  if (body.ok) return body.value;
  const tooLarge = body.refusal.code === "BODY_TOO_LARGE";
  // What is left of the body is not read, so the connection cannot carry another request.
  res.setHeader("connection", "close");
  sendError(res, tooLarge ? 413 : 408, {
    error: "invalid_request",
    error_description: tooLarge ? `A body may have ${bodyBounds.bytesMax} bytes.` : "The body did not arrive in time.",
  });
  return undefined;
}

/** Browsers say where a form post comes from (Fetch, "Origin header"); whoever says nothing is no browser. */
function isSameOrigin(req: IncomingMessage, publicUrl: string): boolean {
  const { origin } = req.headers;
  return origin === undefined || origin === publicUrl;
}

function responseModePage(): ReturnType<typeof messagePage> {
  return messagePage(
    "This request cannot be answered",
    "The application asked for its answer in a form that is not offered.",
    "unsupported_response_mode",
  );
}

function queryOf(req: IncomingMessage): URLSearchParams {
  const url = req.url ?? "/";
  const start = url.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : url.slice(start));
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? "/").split("?")[0] ?? "/";
}
