import { isLegacyRevision } from "../../src/model/revision.ts";
import type { Revision } from "../../src/model/revision.ts";
import { openStream } from "../journey/stream-client.ts";
import type { OpenStream } from "../journey/stream-client.ts";
import { until } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";

/** A client of one revision that can do all its revision lets clients do. */
export interface MatrixClient {
  readonly revision: Revision;
  readonly isLegacy: boolean;
  /** What the gateway said of itself: the `initialize` or `server/discover` result. */
  readonly welcome: Loose;
  /** Sends a request and follows it to its answer: a result, or an error. */
  request(method: string, params?: Loose, more?: Asking): Promise<Followed>;
  /** Opens the stream of notifications: GET, or `subscriptions/listen` with this filter. */
  listen(filter: Loose): Promise<readonly Loose[]>;
  notify(method: string, params: Loose): Promise<number>;
  /** A body as it is; the answers. */
  raw(body: unknown): Promise<OpenStream>;
  close(): void;
}

export interface Asking {
  readonly progressToken?: number;
  readonly logLevel?: string;
  readonly signal?: AbortSignal;
}

export interface Followed {
  readonly result: Loose | undefined;
  readonly error: Loose | undefined;
  /** Notifications that came before the answer. */
  readonly before: readonly Loose[];
  /** Methods that the client was asked for. */
  readonly asked: readonly string[];
}

const prefix = "io.modelcontextprotocol/";
const clientInfo = { name: "matrix", version: "1" };

/** All that a client of the revision can declare. */
function capabilitiesOf(revision: Revision): Loose {
  const modern = !isLegacyRevision(revision);
  const sampling = revision >= "2025-11-25" ? { tools: {} } : {};
  return {
    sampling,
    roots: modern ? {} : { listChanged: true },
    ...(revision >= "2025-06-18" ? { elicitation: revision >= "2025-11-25" ? { form: {}, url: {} } : {} } : {}),
    ...(modern ? { extensions: { [`${prefix}tasks`]: {}, [`${prefix}ui`]: {} } } : {}),
  };
}

/** What the person and the model behind the client say. */
function answerTo(method: string, params: Loose): Loose {
  if (method === "roots/list") return { roots: [{ uri: "file:///work", name: "work" }] };
  if (method === "sampling/createMessage")
    return { role: "assistant", content: { type: "text", text: "yes" }, model: "matrix", stopReason: "endTurn" };
  return params["mode"] === "url" ? { action: "accept" } : { action: "accept", content: { word: "yes" } };
}

export async function openMatrixClient(port: number, revision: Revision): Promise<MatrixClient> {
  const client = new Client(port, revision);
  await client.arrive();
  return client;
}

class Client implements MatrixClient {
  readonly revision: Revision;
  readonly isLegacy: boolean;
  welcome: Loose = {};
  readonly #port: number;
  readonly #streams: OpenStream[] = [];
  #session: string | undefined;
  #id = 0;

  constructor(port: number, revision: Revision) {
    this.#port = port;
    this.revision = revision;
    this.isLegacy = isLegacyRevision(revision);
  }

  async arrive(): Promise<void> {
    const hello = { protocolVersion: this.revision, capabilities: capabilitiesOf(this.revision), clientInfo };
    const method = this.isLegacy ? "initialize" : "server/discover";
    const { result, error } = await this.request(method, this.isLegacy ? hello : {});
    if (result === undefined) throw new Error(`not let in: ${JSON.stringify(error)}`);
    this.welcome = result;
    if (this.isLegacy) await this.notify("notifications/initialized", {});
  }

  async request(method: string, params: Loose = {}, more: Asking = {}): Promise<Followed> {
    const before: Loose[] = [];
    const asked: string[] = [];
    let answer = await this.#once(method, params, more, { before, asked });
    const result = (answer["result"] ?? {}) as Loose;
    if (result["resultType"] === "input_required") {
      const requests = Object.entries((result["inputRequests"] ?? {}) as Record<string, Loose>);
      const inputResponses = Object.fromEntries(requests.map(([key, one]) => [key, this.#respond(one, asked)]));
      const again = { ...params, inputResponses, requestState: result["requestState"] };
      answer = await this.#once(method, again, more, { before, asked });
    }
    return {
      result: answer["result"] as Loose | undefined,
      error: answer["error"] as Loose | undefined,
      before,
      asked,
    };
  }

  #respond(asking: Loose, asked: string[]): Loose {
    asked.push(String(asking["method"]));
    return answerTo(String(asking["method"]), (asking["params"] ?? {}) as Loose);
  }

  async #once(
    method: string,
    params: Loose,
    more: Asking,
    heard: { before: Loose[]; asked: string[] },
  ): Promise<Loose> {
    this.#id += 1;
    const body = { id: this.#id, method, params: { ...params, ...this.#meta(more) } };
    const stream = await this.#post(body, more.signal, (message) => {
      if ("method" in message && "id" in message) {
        const result = this.#respond(message, heard.asked);
        void this.#post({ id: message["id"], result });
      } else if ("method" in message) heard.before.push(message);
    });
    await stream.over;
    const session = stream.headers["mcp-session-id"];
    if (typeof session === "string") this.#session = session;
    return stream.messages.find((message) => "result" in message || "error" in message) ?? {};
  }

  #meta({ progressToken, logLevel }: Asking): Loose {
    const progress = progressToken === undefined ? {} : { progressToken };
    if (this.isLegacy) return progressToken === undefined ? {} : { _meta: progress };
    return {
      _meta: {
        [`${prefix}protocolVersion`]: this.revision,
        [`${prefix}clientInfo`]: clientInfo,
        [`${prefix}clientCapabilities`]: capabilitiesOf(this.revision),
        ...(logLevel === undefined ? {} : { [`${prefix}logLevel`]: logLevel }),
        ...progress,
      },
    };
  }

  #headers(message: Loose): Record<string, string | undefined> {
    const params = (message["params"] ?? {}) as Loose;
    const name = params["name"] ?? params["uri"] ?? params["taskId"];
    const method = message["method"];
    const isModernRequest = !this.isLegacy && typeof method === "string";
    const named = typeof name === "string" && !Array.isArray(message) ? name : undefined;
    return {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-session-id": this.#session,
      "mcp-protocol-version": this.#session === undefined && this.isLegacy ? undefined : this.revision,
      "mcp-method": isModernRequest ? method : undefined,
      "mcp-name": isModernRequest ? named : undefined,
    };
  }

  #post(message: Loose, signal?: AbortSignal, onMessage?: (message: Loose) => void): Promise<OpenStream> {
    return openStream({
      port: this.#port,
      path: "/all/mcp",
      headers: this.#headers(message),
      body: { jsonrpc: "2.0", ...message },
      ...(signal === undefined ? {} : { signal }),
      ...(onMessage === undefined ? {} : { onMessage }),
    });
  }

  async listen(filter: Loose): Promise<readonly Loose[]> {
    this.#id += 1;
    const params = { notifications: filter, ...this.#meta({}) };
    const stream = this.isLegacy
      ? await openStream({ port: this.#port, path: "/all/mcp", method: "GET", headers: this.#headers({}) })
      : await this.#post({ id: this.#id, method: "subscriptions/listen", params });
    if (stream.status !== 200) throw new Error(`no stream: ${stream.status} ${stream.text}`);
    this.#streams.push(stream);
    if (!this.isLegacy) await until(() => stream.messages.length > 0);
    return stream.messages;
  }

  async notify(method: string, params: Loose): Promise<number> {
    const sent = await this.#post({ method, params });
    await sent.over;
    return sent.status;
  }

  async raw(body: unknown): Promise<OpenStream> {
    const stream = await openStream({ port: this.#port, path: "/all/mcp", headers: this.#headers({}), body });
    await stream.over;
    return stream;
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }
}
