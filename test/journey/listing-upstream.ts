import { startScriptedUpstream, type ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { Loose } from "./http-client.ts";

/** What an upstream lists, by kind, and says of itself. */
export interface Listed {
  readonly tools?: readonly Loose[];
  readonly prompts?: readonly Loose[];
  readonly resources?: readonly Loose[];
  readonly resourceTemplates?: readonly Loose[];
  readonly instructions?: string;
  /** URIs that the result of every call links to. */
  readonly linked?: readonly string[];
}

const uses: Readonly<Record<string, Loose>> = {
  "tools/call": { content: [] },
  "prompts/get": { messages: [] },
  "resources/read": { contents: [] },
  "completion/complete": { completion: { values: [] } },
};

/** A modern upstream with exactly these lists, which answers every use of what they name. */
export async function startListingUpstream(listed: Listed): Promise<ScriptedUpstream> {
  const capabilities = { tools: {}, prompts: {}, resources: {}, completions: {} };
  const upstream = await startScriptedUpstream({ era: "modern", capabilities });
  const { tools = [], prompts = [], resources = [], resourceTemplates = [], instructions, linked = [] } = listed;
  const answers: Readonly<Record<string, Loose>> = {
    ...uses,
    "tools/call": { content: linked.map((uri) => ({ type: "resource_link", uri, name: "linked" })) },
    "server/discover": { supportedVersions: ["2026-07-28"], capabilities, serverInfo: info, instructions },
    "tools/list": { tools },
    "prompts/list": { prompts },
    "resources/list": { resources },
    "resources/templates/list": { resourceTemplates },
  };
  upstream.script(({ rpc }, wire) => {
    const result = answers[String(rpc["method"])];
    if (result === undefined) return false;
    const hints = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { ...hints, ...result } });
    return true;
  });
  return upstream;
}

const info = { name: "listing", version: "1" };

/** What was used of it, in order: the method, the name or URI that it was asked for, and that of the header. */
export function used(upstream: ScriptedUpstream): readonly (readonly unknown[])[] {
  return upstream.received
    .filter(({ rpc }) => Object.hasOwn(uses, String(rpc["method"])))
    .map((request) => {
      const { rpc } = request;
      const params = rpc["params"] as Loose;
      const ref = params["ref"] as Loose | undefined;
      return [
        rpc["method"],
        params["name"] ?? params["uri"] ?? ref?.["name"] ?? ref?.["uri"],
        request.header("mcp-name"),
      ];
    });
}
