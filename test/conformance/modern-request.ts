import { asValues, type Values } from "./fixture-item.ts";
import { revisionOf } from "./suite.ts";

interface Answered {
  readonly result: Values;
  readonly error: Values;
}

const namespace = "io.modelcontextprotocol";

/** One request of the modern revision, as a client sends it that looks at neither lists nor schemas. */
export async function modernRequest(url: string, method: string, params: Values): Promise<Answered> {
  const _meta = {
    [`${namespace}/protocolVersion`]: revisionOf.modern,
    [`${namespace}/clientInfo`]: { name: "conformance", version: "1.0.0" },
    [`${namespace}/clientCapabilities`]: {},
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": revisionOf.modern,
      "mcp-method": method,
      ...(typeof params["name"] === "string" ? { "mcp-name": params["name"] } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
  const answer = asValues(JSON.parse(await response.text()));
  return { result: asValues(answer["result"]), error: asValues(answer["error"]) };
}
