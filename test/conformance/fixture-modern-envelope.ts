import { asValues, type Values } from "./fixture-item.ts";

export const modernRevision = "2026-07-28";

/** The key of the protocol's own metadata. */
export function metaKey(name: string): string {
  return `io.modelcontextprotocol/${name}`;
}

/** A request whose headers and metadata are in order. */
export interface ModernRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: Values;
  readonly meta: Values;
  /** What the client says it can do, for this request alone. */
  readonly capabilities: Values;
}

interface Fault {
  readonly status: number;
  readonly error: Values;
}

type Headers = (name: string) => string | undefined;

/**
 * Holds a message against the rules that stand before any method: shape, version, metadata, and headers
 * that say the same as the body (2026-07-28, Streamable HTTP). Arguments that travel in headers are
 * compared for the one tool here that has them.
 */
export function checkEnvelope(message: Values, headers: Headers): ModernRequest | Fault {
  const { id, method } = message;
  const params = asValues(message["params"]);
  const meta = asValues(params["_meta"]);
  if ((typeof id !== "string" && typeof id !== "number") || typeof method !== "string") {
    return fault(-32600, "Not a request");
  }
  const wrong =
    versionFault(meta, headers) ?? standardHeaderFault(method, params, headers) ?? parameterFault(params, headers);
  if (wrong !== undefined) return wrong;
  return { id, method, params, meta, capabilities: asValues(meta[metaKey("clientCapabilities")]) };
}

function versionFault(meta: Values, headers: Headers): Fault | undefined {
  const shown = headers("mcp-protocol-version");
  const requested = meta[metaKey("protocolVersion")];
  if (shown === undefined) return mismatch("mcp-protocol-version");
  if (typeof requested !== "string") return fault(-32602, "_meta lacks the protocol version");
  if (requested !== shown) return mismatch("mcp-protocol-version");
  if (requested !== modernRevision) {
    return { ...fault(-32022, "Unsupported protocol version", { supported: [modernRevision], requested }) };
  }
  const capabilities = meta[metaKey("clientCapabilities")];
  return capabilities !== asValues(capabilities) ? fault(-32602, "_meta lacks the client's capabilities") : undefined;
}

function standardHeaderFault(method: string, params: Values, headers: Headers): Fault | undefined {
  if (headers("mcp-method") !== method) return mismatch("mcp-method");
  const named =
    method === "resources/read"
      ? params["uri"]
      : ["tools/call", "prompts/get"].includes(method)
        ? params["name"]
        : undefined;
  if (named === undefined) return undefined;
  return decoded(headers("mcp-name")) === named ? undefined : mismatch("mcp-name");
}

function parameterFault(params: Values, headers: Headers): Fault | undefined {
  if (params["name"] !== "test_header_parameter") return undefined;
  const shown = headers("mcp-param-region");
  const region = asValues(params["arguments"])["region"];
  if (shown === undefined && (region === undefined || region === null)) return undefined;
  return shown !== undefined && decoded(shown) === region ? undefined : mismatch("mcp-param-region");
}

/** The text of a header value, which is Base64 in a wrapper where it is not plain ASCII. */
function decoded(value: string | undefined): string | undefined {
  const wrapped = value === undefined ? undefined : /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (wrapped === undefined) return value;
  const bytes = Buffer.from(wrapped, "base64");
  // A decoder that is content with anything would let two spellings of one value pass.
  return bytes.toString("base64") === wrapped ? bytes.toString() : undefined;
}

function mismatch(name: string): Fault {
  return fault(-32020, `Header ${name} does not say what the body says`);
}

function fault(code: number, message: string, data?: Values): Fault {
  return { status: 400, error: { code, message, ...(data === undefined ? {} : { data }) } };
}
