import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Values } from "./fixture-item.ts";
import { revisionOf, type Era } from "./suite.ts";

/** What the person answers to a form. Fields left out get the default that the form names. */
export type Answer = () => Promise<Readonly<Record<string, string | number | boolean>>>;

/** What the scenarios need of a client, in words that both eras share. Closing ends a legacy session. */
export interface SuiteClient {
  listTools(): Promise<readonly Values[]>;
  callTool(name: string, args: Values): Promise<unknown>;
  listResources(): Promise<readonly Values[]>;
  readResource(uri: string): Promise<unknown>;
  listPrompts(): Promise<readonly Values[]>;
  getPrompt(name: string): Promise<unknown>;
  close(): Promise<void>;
}

const info = { name: "conformance", version: "1.0.0" };

/** Connects an SDK client of this era. It declares elicitation only where somebody is there to answer. */
export function connectClient(era: Era, url: string, answer?: Answer): Promise<SuiteClient> {
  return era === "legacy" ? connectLegacy(url, answer) : connectModern(url, answer);
}

const capabilities = { elicitation: { form: { applyDefaults: true } } };

async function connectLegacy(url: string, answer: Answer | undefined): Promise<SuiteClient> {
  const client = new LegacyClient(info, { capabilities: answer === undefined ? {} : capabilities });
  if (answer !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: await answer() }));
  }
  const transport = new LegacyTransport(new URL(url));
  await client.connect(transport);
  return {
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    listResources: async () => (await client.listResources()).resources,
    readResource: (uri) => client.readResource({ uri }),
    listPrompts: async () => (await client.listPrompts()).prompts,
    getPrompt: (name) => client.getPrompt({ name }),
    close: () => client.close(),
  };
}

async function connectModern(url: string, answer: Answer | undefined): Promise<SuiteClient> {
  const client = new ModernClient(info, {
    versionNegotiation: { mode: { pin: revisionOf.modern } },
    capabilities: answer === undefined ? {} : capabilities,
  });
  if (answer !== undefined) {
    client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: await answer() }));
  }
  await client.connect(new ModernTransport(new URL(url)));
  return {
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    listResources: async () => (await client.listResources()).resources,
    readResource: (uri) => client.readResource({ uri }),
    listPrompts: async () => (await client.listPrompts()).prompts,
    getPrompt: (name) => client.getPrompt({ name }),
    close: () => client.close(),
  };
}
