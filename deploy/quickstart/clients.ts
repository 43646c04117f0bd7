import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientProvider as ProviderV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Person } from "./person.ts";

/** Which SDK a client is made of. `modern` is v2 and negotiates; `legacy` is v1. */
export type Sdk = "modern" | "legacy";

/** One HTTP exchange of a client, without what browsers and tokens carry. */
export interface Exchanged {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Set on 401 and 403. */
  readonly challenge: string | undefined;
  /** The body, of refusals only. */
  readonly refusal: string | undefined;
}

export interface Definition {
  readonly name: string;
  readonly description?: string | undefined;
}

export interface CallResult {
  readonly isError: boolean;
  /** All text parts of the content, joined. */
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>> | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** What the story needs of either SDK. */
export interface Client {
  readonly revision: () => string;
  readonly exchanges: readonly Exchanged[];
  connect(): Promise<void>;
  /** Hands the code of a sign-in to the SDK, which exchanges it for a token. */
  finishSignIn(answer: URLSearchParams): Promise<void>;
  tools(): Promise<readonly Definition[]>;
  prompts(): Promise<readonly string[]>;
  resources(): Promise<readonly string[]>;
  templates(): Promise<readonly string[]>;
  call(name: string, args: Record<string, unknown>): Promise<CallResult>;
  close(): Promise<void>;
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof UnauthorizedV1 || error instanceof UnauthorizedV2;
}

export function createClient(sdk: Sdk, url: string, person: Person): Client {
  return sdk === "modern" ? modern(new URL(url), person) : legacy(new URL(url), person);
}

const info = { name: "quickstart", version: "1.0.0" };

function modern(url: URL, person: Person): Client {
  const exchanges: Exchanged[] = [];
  const client = new ClientV2(info, { versionNegotiation: { mode: "auto" } });
  const transport = new TransportV2(url, { authProvider: person.provider, fetch: noting(exchanges) });
  const fresh = { cacheMode: "refresh" } as const;
  return {
    revision: () => client.getNegotiatedProtocolVersion() ?? "",
    exchanges,
    connect: () => client.connect(transport),
    finishSignIn: (answer) => transport.finishAuth(answer),
    tools: async () => (await client.listTools(undefined, fresh)).tools,
    prompts: async () => (await client.listPrompts(undefined, fresh)).prompts.map(({ name }) => name),
    resources: async () => (await client.listResources(undefined, fresh)).resources.map(({ uri }) => uri),
    templates: async () =>
      (await client.listResourceTemplates(undefined, fresh)).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    call: async (name, args) => resultOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}

function legacy(url: URL, person: Person): Client {
  const exchanges: Exchanged[] = [];
  const client = new ClientV1(info);
  const options = { authProvider: person.provider as ProviderV1, fetch: noting(exchanges) };
  const transport = new TransportV1(url, options);
  return {
    revision: () => transport.protocolVersion ?? "",
    exchanges,
    connect: () => client.connect(transport),
    finishSignIn: (answer) => transport.finishAuth(answer.get("code") ?? ""),
    tools: async () => (await client.listTools()).tools,
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    call: async (name, args) => resultOf(await client.callTool({ name, arguments: args })),
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** `fetch` that leaves a line for each exchange behind. */
function noting(exchanges: Exchanged[]): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const response = await fetch(input, init);
    exchanges.push({
      method: init?.method ?? "GET",
      path: new URL(input).pathname,
      status: response.status,
      challenge: response.headers.get("www-authenticate") ?? undefined,
      refusal: response.status === 401 || response.status === 403 ? await response.clone().text() : undefined,
    });
    return response;
  };
}

function resultOf(result: Record<string, unknown>): CallResult {
  const content = (result["content"] ?? []) as readonly { type: string; text?: string }[];
  return {
    isError: result["isError"] === true,
    text: content.map(({ text }) => text ?? "").join("\n"),
    structured: result["structuredContent"] as CallResult["structured"],
    meta: (result["_meta"] ?? {}) as Record<string, unknown>,
  };
}
