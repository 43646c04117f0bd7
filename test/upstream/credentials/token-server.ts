import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { CallerToken } from "../../../src/model/caller-token.ts";
import { principalKey, type Principal } from "../../../src/model/principal.ts";
import type { OnAccountOf } from "../../../src/upstream/port.ts";
import { closeAfter } from "../setup.ts";

/** What a token endpoint was asked. */
interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly form: Readonly<Record<string, string>>;
}

export interface TokenServer {
  readonly url: string;
  readonly asked: Asked[];
  /** How often its metadata was read. */
  metadataReads: number;
  /** What it answers. Default: `token-1`, `token-2` and so on, good for 600 s, of the type that was asked for. */
  answer: (
    asked: Asked,
    count: number,
  ) => { readonly status?: number; readonly body: Readonly<Record<string, unknown>> };
}

/** An authorization server on loopback that gives whatever it is told to, closed when the test is over. */
export async function tokenServer(): Promise<TokenServer> {
  const server = await startTokenServer();
  closeAfter(server.close);
  return server;
}

export async function startTokenServer(): Promise<TokenServer & { readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      if (request.url === "/token") {
        const asked = { headers: request.headers, form: Object.fromEntries(new URLSearchParams(body)) };
        state.asked.push(asked);
        const { status = 200, body: answer } = state.answer(asked, state.asked.length);
        response.statusCode = status;
        response.end(JSON.stringify(answer));
        return;
      }
      state.metadataReads += 1;
      response.end(JSON.stringify({ issuer: state.url, token_endpoint: `${state.url}/token` }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const state: TokenServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    metadataReads: 0,
    answer: (_asked, count) => ({ body: token(`token-${count}`) }),
  };
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(state, { close });
}

const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";

export function token(accessToken: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: 600,
    issued_token_type: accessTokenType,
    ...more,
  };
}

/** What a test's clock says at first, in milliseconds; `roomFor` begins there too. */
export const startMs = 1_000_000;

export interface CallerOptions {
  readonly subject?: string;
  readonly scopes?: readonly string[];
  readonly groups?: readonly string[];
  readonly clientId?: string;
  readonly tenant?: string;
  /** `undefined` for an account that outlived its exchange. */
  readonly token?: string | undefined;
  /** Milliseconds from `startMs` for which the caller's token is good. */
  readonly goodForMs?: number;
  /** It came bound to a key or a certificate. */
  readonly bound?: boolean;
}

/** The account of a caller who came with a token. */
export function accountOf(options: CallerOptions = {}): OnAccountOf {
  const { subject = "ada", clientId = "editor", tenant = "default", goodForMs = 3_600_000 } = options;
  const who = { tenant, issuer: "https://idp.example", kind: "human", subject, clientId } as const;
  const principal: Principal = {
    ...who,
    issuerAlias: "corp",
    groups: options.groups ?? [],
    scopes: options.scopes ?? [],
    claims: {},
    expiresAt: (startMs + goodForMs) / 1_000,
    key: principalKey(who),
    ...(options.bound === true ? { senderConstrained: true } : {}),
  };
  const text = "token" in options ? options.token : `caller-token-of-${subject}`;
  return {
    tenant,
    principalKey: principal.key,
    clientSession: `session-of-${subject}`,
    caller: { principal, token: text === undefined ? undefined : new CallerToken(text) },
  };
}

/** The gateway's own. */
export const ownAccount: OnAccountOf = {
  tenant: "default",
  principalKey: "gateway",
  clientSession: undefined,
  caller: undefined,
};
