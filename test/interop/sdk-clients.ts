import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from "@modelcontextprotocol/client";
import type { ClientOptions } from "@modelcontextprotocol/client";
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Person } from "./person.ts";

export const kinds = ["v1", "v2 legacy", "v2 auto", "v2 pinned"] as const;

export type Kind = (typeof kinds)[number];

export type Loose = Record<string, unknown>;

export interface CallOptions {
  readonly timeout?: number;
  readonly onprogress?: (progress: unknown) => void;
}

/** What all the clients can do, in the words they share. Results are as the SDK hands them out. */
export interface Connected {
  /** As negotiated with the gateway. */
  readonly revision: string | undefined;
  readonly serverInfo: Loose | undefined;
  readonly capabilities: Loose | undefined;
  readonly instructions: string | undefined;
  /** What the client noticed outside of any request, such as a stream that cannot be opened. */
  readonly errors: readonly Error[];
  listTools(): Promise<Loose[]>;
  listPrompts(): Promise<Loose[]>;
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
  /** Ends the step-up or sign-in that a request ran into. */
  finishAuth(answer: URLSearchParams): Promise<void>;
  /** Ends a legacy session; nothing to do in the modern era. */
  terminate(): Promise<void>;
  close(): Promise<void>;
}

interface Attempt {
  readonly connected: Connected;
  connect(): Promise<void>;
}

/** Connects a client that knows the server's URL only, sending the person to sign in when it is told to. */
export async function connect(kind: Kind, url: string, person: Person): Promise<Connected> {
  const first = attempt(kind, url, person);
  try {
    await first.connect();
    return first.connected;
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
  }
  await first.connected.finishAuth(await person.visit());
  await first.connected.close();
  const second = attempt(kind, url, person);
  await second.connect();
  return second.connected;
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof UnauthorizedV1 || error instanceof UnauthorizedV2;
}

function attempt(kind: Kind, url: string, person: Person): Attempt {
  return kind === "v1" ? attemptV1(url, person) : attemptV2(kind, url, person);
}

function callParams(name: string, args: Loose | undefined): { name: string; arguments?: Loose } {
  return args === undefined ? { name } : { name, arguments: args };
}

const info = { name: "interop", version: "1.0.0" };

function attemptV1(url: string, person: Person): Attempt {
  const client = new ClientV1(info);
  const errors: Error[] = [];
  client.onerror = (error) => void errors.push(error);
  const transport = new TransportV1(new URL(url), { authProvider: person.provider });
  const connected: Connected = {
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
    errors,
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
    finishAuth: (answer) => transport.finishAuth(answer.get("code") ?? ""),
    terminate: () => transport.terminateSession(),
    close: () => client.close(),
  };
  return { connected, connect: () => client.connect(transport) };
}

const negotiation: Readonly<Record<Exclude<Kind, "v1">, ClientOptions>> = {
  "v2 legacy": { versionNegotiation: { mode: "legacy" } },
  "v2 auto": { versionNegotiation: { mode: "auto" } },
  "v2 pinned": { versionNegotiation: { mode: { pin: "2026-07-28" } } },
};

function attemptV2(kind: Exclude<Kind, "v1">, url: string, person: Person): Attempt {
  const client = new ClientV2(info, { ...negotiation[kind], listChanged: { tools: { onChanged: () => undefined } } });
  const errors: Error[] = [];
  client.onerror = (error) => void errors.push(error);
  const transport = new TransportV2(new URL(url), { authProvider: person.provider });
  const connected: Connected = {
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
    errors,
    listTools: async () => (await client.listTools()).tools,
    listPrompts: async () => (await client.listPrompts()).prompts,
    listResources: async () => (await client.listResources()).resources,
    listTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    callTool: (name, args, options) => client.callTool(callParams(name, args), options),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (name, argument) => client.complete({ ref: { type: "ref/prompt", name }, argument }),
    ping: () => client.ping(),
    subscribe: (uri) => client.subscribeResource({ uri }),
    setLoggingLevel: async (level) => client.request({ method: "logging/setLevel", params: { level } }),
    finishAuth: (answer) => transport.finishAuth(answer),
    terminate: () => transport.terminateSession(),
    close: () => client.close(),
  };
  return { connected, connect: () => client.connect(transport) };
}
