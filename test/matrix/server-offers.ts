import type { Revision } from "../../src/model/revision.ts";
import type { Loose } from "../journey/http-client.ts";

/** What the matrix's own server offers in every revision; how it is carried is the business of its era. */
const inputSchema = { type: "object", properties: { text: { type: "string" } } };

export const toolNames = ["echo", "kinds", "report", "tell", "slow", "change", "touch"] as const;

/** Tools that ask the client something, and which capability of the client that takes. */
export const askingTools: Readonly<Record<string, { readonly capability: string; readonly since: Revision }>> = {
  ask_form: { capability: "elicitation", since: "2025-06-18" },
  ask_url: { capability: "elicitation", since: "2025-11-25" },
  ask_model: { capability: "sampling", since: "2025-03-26" },
  ask_model_with_tools: { capability: "sampling", since: "2025-11-25" },
  ask_roots: { capability: "roots", since: "2025-03-26" },
};

export function toolsOf(revision: Revision, changed: number): Loose[] {
  const asking = Object.entries(askingTools).filter(([, { since }]) => since <= revision);
  const plain = [...toolNames, ...asking.map(([name]) => name)].map((name) => ({ name, inputSchema }));
  const later = { name: "later", inputSchema, execution: { taskSupport: "optional" } };
  const shown = { name: "show", inputSchema, _meta: { ui: { resourceUri: "ui://matrix/show" } } };
  const added = Array.from({ length: changed }, (_, at) => ({ name: `added_${at + 1}`, inputSchema }));
  const structured = { name: "structured", inputSchema, outputSchema: { type: "object", required: ["n"] } };
  return [...plain, ...(revision >= "2025-06-18" ? [structured] : []), later, shown, ...added];
}

export const resources: readonly Loose[] = [
  { uri: "matrix://text", name: "text", mimeType: "text/plain" },
  { uri: "ui://matrix/show", name: "show", mimeType: "text/html;profile=mcp-app" },
];
export const templates: readonly Loose[] = [{ uriTemplate: "matrix://item/{id}", name: "item" }];
export const prompts: readonly Loose[] = [{ name: "greet", arguments: [{ name: "who" }] }];

/** A question in the words of the method that asks it. */
export function questionOf(tool: string): { readonly method: string; readonly params: Loose } {
  const messages = [{ role: "user", content: { type: "text", text: "say yes" } }];
  switch (tool) {
    case "ask_form":
      return {
        method: "elicitation/create",
        params: {
          mode: "form",
          message: "which word?",
          requestedSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
        },
      };
    case "ask_url":
      return {
        method: "elicitation/create",
        params: { mode: "url", message: "open it", url: "https://example.com/open", elicitationId: "one" },
      };
    case "ask_model":
      return { method: "sampling/createMessage", params: { messages, maxTokens: 10 } };
    case "ask_model_with_tools":
      return {
        method: "sampling/createMessage",
        params: { messages, maxTokens: 10, tools: [{ name: "look", inputSchema: { type: "object" } }] },
      };
    default:
      return { method: "roots/list", params: {} };
  }
}

/** Whether the client said it can do what the tool asks for. */
export function canAsk(tool: string, capabilities: Loose): boolean {
  const declared = capabilities[askingTools[tool]?.capability ?? ""] as Loose | undefined;
  if (declared === undefined) return false;
  if (tool === "ask_url") return declared["url"] !== undefined;
  return tool !== "ask_model_with_tools" || declared["tools"] !== undefined;
}

const one = (text: string): Loose => ({ content: [{ type: "text", text }] });

/** Results of the tools that only answer; undefined for those that do more. */
export function plainResult(tool: string, args: Loose, revision: Revision): Loose | undefined {
  const text = JSON.stringify(args["text"] ?? null);
  switch (tool) {
    case "echo":
    case "show":
      return one(text);
    case "structured":
      return { ...one(text), structuredContent: { n: 9, text: args["text"] ?? null } };
    case "kinds": {
      const link = { type: "resource_link", uri: "matrix://text", name: "text" };
      const embedded = { type: "resource", resource: { uri: "matrix://text", text: "here" } };
      const picture = { type: "image", data: "AAAA", mimeType: "image/png" };
      const sound = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
      return { content: [picture, sound, embedded, ...(revision >= "2025-06-18" ? [link] : [])] };
    }
    default:
      return undefined;
  }
}

export function itemResult(method: string, params: Loose): Loose | undefined {
  const uri = String(params["uri"]);
  switch (method) {
    case "resources/list":
      return { resources: [...resources] };
    case "resources/templates/list":
      return { resourceTemplates: [...templates] };
    case "resources/read":
      return { contents: [{ uri, text: `content of ${uri}` }] };
    case "prompts/list":
      return { prompts: [...prompts] };
    case "prompts/get":
      return { messages: [{ role: "user", content: { type: "text", text: "hello" } }] };
    case "completion/complete":
      return { completion: { values: ["one", "two"] } };
    default:
      return undefined;
  }
}

/** One page of three, by a cursor of the server's own. */
export function toolPage(tools: readonly Loose[], params: Loose): Loose {
  const start = Number(params["cursor"] ?? 0);
  const size = Math.ceil(tools.length / 3);
  const more = start + size < tools.length;
  return { tools: tools.slice(start, start + size), ...(more ? { nextCursor: String(start + size) } : {}) };
}
