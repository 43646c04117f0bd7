import type { JWTPayload } from "jose";
import { startGatewayUnderTest, startIssuer, type GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { send, sendRaw, type Received } from "../journey/http-client.ts";
import {
  startScriptedUpstream,
  type Loose,
  type ReceivedRequest,
  type ScriptedUpstream,
  type Wire,
} from "../upstream/scripted-upstream.ts";

/** How the upstream answers a request for a file. */
export type FileScript = (request: ReceivedRequest, wire: Wire) => void;

export interface FilesBenchOptions {
  readonly files?: Loose;
  readonly rules?: readonly Loose[];
  /** Keys of the upstream's block of configuration. */
  readonly upstream?: Loose;
  readonly config?: Loose;
  readonly env?: Readonly<Record<string, string>>;
  readonly tools?: readonly Loose[];
  readonly capabilities?: Loose;
  /** Asked before everything else, from the start; true when it answered. */
  readonly script?: (request: ReceivedRequest, wire: Wire) => boolean;
}

export interface FilesBench {
  readonly gateway: GatewayUnderTest;
  readonly upstream: ScriptedUpstream;
  /** Requests for files that the upstream received, so none of its MCP traffic. */
  fetched(): readonly ReceivedRequest[];
  /** Answers from now on; each test sets its own. */
  answer(script: FileScript): void;
  token(claims?: JWTPayload, server?: string): Promise<string>;
  /** A request with a good token, unless its headers say otherwise. */
  get(path: string, more?: { method?: string; headers?: Record<string, string | undefined> }): Promise<Received>;
  /** The same with bytes that no HTTP client would send; the connection ends with the answer. */
  raw(target: string, more?: { method?: string; headers?: readonly string[] }): Promise<Received>;
  close(): Promise<void>;
}

export const pdf = "%PDF-1.7 quarterly figures";

/** A gateway with the servers `support` (upstreams `crm`, with files, and `tickets`, without) and `sales` (`tickets`). */
export async function startFilesBench(options: FilesBenchOptions = {}): Promise<FilesBench> {
  const issuer = await startIssuer();
  const { tools, capabilities } = options;
  const upstream = await startScriptedUpstream({
    ...(tools === undefined ? {} : { tools }),
    ...(capabilities === undefined ? {} : { capabilities }),
  });
  const tickets = await startScriptedUpstream();
  let script: FileScript = (_request, wire) => {
    wire.respond(200, "application/pdf", pdf);
  };
  upstream.script((request, wire) => {
    if (options.script?.(request, wire) === true) return true;
    if (request.path === "/mcp" && request.method === "POST") return false;
    script(request, wire);
    return true;
  });
  const files = options.files ?? { routes: ["/reports/*"], types: ["application/pdf", "text/csv"] };
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { crm: { url: upstream.url, files, ...options.upstream }, tickets: tickets.url },
    servers: { support: { crm: "", tickets: "t_" }, sales: { tickets: "" } },
    ...(options.rules === undefined ? {} : { rules: options.rules }),
    ...(options.config === undefined ? {} : { config: options.config }),
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  const token = (claims: JWTPayload = {}, server = "support"): Promise<string> =>
    issuer.mint(gateway.resource(server), claims);
  return {
    gateway,
    upstream,
    fetched: () => upstream.received.filter(({ path, method }) => path !== "/mcp" || method !== "POST"),
    answer: (next) => {
      script = next;
    },
    token,
    get: async (path, { method = "GET", headers = {} } = {}) =>
      send({
        port: gateway.port,
        path,
        method,
        headers: { authorization: `Bearer ${await token()}`, ...headers },
      }),
    raw: async (target, { method = "GET", headers = [] } = {}) => {
      const head = [
        `${method} ${target} HTTP/1.1`,
        `Host: ${gateway.host}`,
        `Authorization: Bearer ${await token()}`,
        "Connection: close",
        ...headers,
      ];
      return sendRaw(gateway.port, Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"));
    },
    close: async () => {
      await gateway.remove();
      await Promise.all([upstream.close(), tickets.close(), issuer.close()]);
    },
  };
}
