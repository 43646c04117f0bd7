import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from "@modelcontextprotocol/client";
import type { ClientOptions } from "@modelcontextprotocol/client";
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientProvider as ProviderV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Person } from "./person.ts";

/** Which SDK a client is made of, and which revisions it takes. `v1` and `v2 legacy` are legacy, the others modern. */
export const kinds = ["v1", "v2 legacy", "v2 auto", "v2 pinned"] as const;

export type Kind = (typeof kinds)[number];

export type Loose = Record<string, unknown>;

export type Definition = Loose & { readonly name: string; readonly description?: string | undefined };

export interface CallOptions {
  readonly timeout?: number;
  readonly onprogress?: (progress: unknown) => void;
}

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

/** What all the clients can do, in the words they share. Results are as the SDK hands them out. */
export interface SdkClient {
  /** As negotiated with the gateway. */
  readonly revision: string | undefined;
  readonly serverInfo: Loose | undefined;
  readonly capabilities: Loose | undefined;
  readonly instructions: string | undefined;
  readonly exchanges: readonly Exchanged[];
  /** What the client noticed outside of any request, such as a stream that cannot be opened. */
  readonly errors: readonly Error[];
  connect(): Promise<void>;
  /** Hands what came back from a sign-in to the SDK, which exchanges its code for a token. */
  finishAuth(answer: URLSearchParams): Promise<void>;
  listTools(): Promise<Definition[]>;
  listPrompts(): Promise<Definition[]>;
  listResources(): Promise<Loose[]>;
  listTemplates(): Promise<Loose[]>;
  callTool(name: string, args?: Loose, options?: CallOptions): Promise<Loose>;
  readResource(uri: string): Promise<Loose>;
  getPrompt(name: string, args: Record<string, string>): Promise<Loose>;
  complete(prompt: string, argument: { name: string; value: string }): Promise<unknown>;
  /** What the modern revision has not: v2 refuses these by itself there. */
  ping(): Promise<unknown>;
  subscribe(uri: string): Promise<unknown>;
  setLoggingLevel(level: "debug"): Promise<unknown>;
  /** Ends a legacy session; nothing to do in the modern era. */
  terminate(): Promise<void>;
  close(): Promise<void>;
}

export interface ClientRequest {
  readonly kind: Kind;
  readonly url: string;
  readonly person: Person;
  /** Whether a v2 client listens for tools that change. */
  readonly listens?: boolean;
}

/** A client that is not connected yet and knows no more than the URL of its server. */
export function createClient(request: ClientRequest): SdkClient {
  return request.kind === "v1" ? createV1(request) : createV2(request.kind, request);
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof UnauthorizedV1 || error instanceof UnauthorizedV2;
}

const info = { name: "quickstart", version: "1.0.0" };

function createV1({ url, person }: ClientRequest): SdkClient {
  const client = new ClientV1(info);
  const errors: Error[] = [];
  client.onerror = (error) => void errors.push(error);
  const exchanges: Exchanged[] = [];
  const authProvider = person.provider as ProviderV1;
  const transport = new TransportV1(new URL(url), { authProvider, fetch: noting(exchanges) });
  return {
    get revision() {
      return transport.protocolVersion;
    },
    get serverInfo() {
      return client.getServerVersion() as Loose | undefined;
    },
    get capabilities() {
      return client.getServerCapabilities() as Loose | undefined;
    },
    get instructions() {
      return client.getInstructions();
    },
    exchanges,
    errors,
    connect: () => client.connect(transport),
    finishAuth: (answer) => transport.finishAuth(answer.get("code") ?? ""),
    listTools: async () => (await client.listTools()).tools,
    listPrompts: async () => (await client.listPrompts()).prompts,
    listResources: async () => (await client.listResources()).resources,
    listTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    callTool: (name, args, options) => client.callTool(callParams(name, args), undefined, options),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (name, argument) => client.complete({ ref: { type: "ref/prompt", name }, argument }),
    ping: () => client.ping(),
    subscribe: (uri) => client.subscribeResource({ uri }),
    setLoggingLevel: (level) => client.setLoggingLevel(level),
    terminate: () => transport.terminateSession(),
    close: () => client.close(),
  };
}

const negotiation: Readonly<Record<Exclude<Kind, "v1">, ClientOptions>> = {
  "v2 legacy": { versionNegotiation: { mode: "legacy" } },
  "v2 auto": { versionNegotiation: { mode: "auto" } },
  "v2 pinned": { versionNegotiation: { mode: { pin: "2026-07-28" } } },
};
const listening: ClientOptions = { listChanged: { tools: { onChanged: () => undefined } } };
/** Lists are asked for anew each time, whatever the client remembers. */
const fresh = { cacheMode: "refresh" } as const;

function createV2(kind: Exclude<Kind, "v1">, { url, person, listens = false }: ClientRequest): SdkClient {
  const client = new ClientV2(info, { ...negotiation[kind], ...(listens ? listening : {}) });
  const errors: Error[] = [];
  client.onerror = (error) => void errors.push(error);
  const exchanges: Exchanged[] = [];
  const transport = new TransportV2(new URL(url), { authProvider: person.provider, fetch: noting(exchanges) });
  return {
    get revision() {
      return client.getNegotiatedProtocolVersion();
    },
    get serverInfo() {
      return client.getServerVersion() as Loose | undefined;
    },
    get capabilities() {
      return client.getServerCapabilities() as Loose | undefined;
    },
    get instructions() {
      return client.getInstructions();
    },
    exchanges,
    errors,
    connect: () => client.connect(transport),
    finishAuth: (answer) => transport.finishAuth(answer),
    listTools: async () => (await client.listTools(undefined, fresh)).tools,
    listPrompts: async () => (await client.listPrompts(undefined, fresh)).prompts,
    listResources: async () => (await client.listResources(undefined, fresh)).resources,
    listTemplates: async () => (await client.listResourceTemplates(undefined, fresh)).resourceTemplates,
    callTool: (name, args, options) => client.callTool(callParams(name, args), options),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (name, argument) => client.complete({ ref: { type: "ref/prompt", name }, argument }),
    ping: () => client.ping(),
    subscribe: (uri) => client.subscribeResource({ uri }),
    setLoggingLevel: async (level) => client.request({ method: "logging/setLevel", params: { level } }),
    terminate: () => transport.terminateSession(),
    close: () => client.close(),
  };
}

function callParams(name: string, args: Loose | undefined): { name: string; arguments?: Loose } {
  return args === undefined ? { name } : { name, arguments: args };
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
