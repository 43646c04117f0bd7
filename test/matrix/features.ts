import type { Revision } from "../../src/model/revision.ts";
import { until } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { refusalIn } from "../journey/wire-client.ts";
import type { Followed, MatrixClient } from "./matrix-client.ts";
import type { MatrixServer } from "./matrix-server.ts";

/** What came of a feature in one pairing: `works`, or what happened instead. */
export type Verdict = string;

export interface Feature {
  readonly title: string;
  /** Whether a revision has such a thing at all, as a client's and as a server's. */
  readonly client: (revision: Revision) => boolean;
  readonly server: (revision: Revision) => boolean;
  readonly run: (client: MatrixClient, server: MatrixServer) => Promise<Verdict>;
}

const always = (): boolean => true;
const legacyOnly = (revision: Revision): boolean => revision < "2026-07-28";
const since =
  (first: Revision) =>
  (revision: Revision): boolean =>
    revision >= first;

const works = "works";

function textOf({ result }: Followed): string {
  const [first] = (result?.["content"] ?? []) as { text?: string }[];
  return first?.text ?? "";
}

/** A refusal by its code; else whether the answer is what it should be, with what it is when not. */
function judged(answer: Followed, holds: boolean): Verdict {
  const refusal = refusalIn({ json: { result: answer.result, error: answer.error } });
  if (refusal.code !== "") return `refused \`${refusal.code}\``;
  if (answer.error !== undefined) return `refused ${String(answer.error["code"])}`;
  return holds ? works : `degraded: ${textOf(answer)}`;
}

const call = (client: MatrixClient, name: string, args: Loose = {}, more: Loose = {}): Promise<Followed> =>
  client.request("tools/call", { name, arguments: args, ...more });

/** A tool that asks the client: it must have been asked, and the answer must have reached the server. */
function asking(title: string, tool: string, first: Revision, heard: string): Feature {
  return {
    title,
    client: since(first),
    server: since(first),
    run: async (client) => {
      const answer = await call(client, tool);
      return judged(answer, answer.asked.length === 1 && textOf(answer).includes(heard));
    },
  };
}

/** Notifications that follow a call which provokes them. */
async function noticed(client: MatrixClient, tool: string, method: string, heard: readonly Loose[]): Promise<Verdict> {
  const answer = await call(client, tool);
  if (judged(answer, true) !== works) return judged(answer, true);
  await until(() => heard.some((message) => message["method"] === method));
  return works;
}

const listResult = async (client: MatrixClient, method: string, key: string): Promise<Loose[]> => {
  const { result } = await client.request(method);
  return (result?.[key] ?? []) as Loose[];
};

export const features: readonly Feature[] = [
  {
    title: "the revision is agreed",
    client: always,
    server: always,
    run: ({ welcome, revision, isLegacy }) => {
      const agreed = isLegacy ? [welcome["protocolVersion"]] : (welcome["supportedVersions"] as unknown[]);
      return Promise.resolve(agreed.includes(revision) ? works : `degraded: ${JSON.stringify(agreed)}`);
    },
  },
  {
    title: "ping",
    client: legacyOnly,
    server: always,
    run: async (client) => judged(await client.request("ping"), true),
  },
  {
    title: "batches",
    client: (revision) => revision === "2025-03-26",
    server: always,
    run: async (client) => {
      const pings = ["a", "b"].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));
      const { status, text } = await client.raw(pings);
      return status === 200 && (JSON.parse(text) as unknown[]).length === 2 ? works : `degraded: ${text}`;
    },
  },
  {
    title: "tools: list, all pages of the server's",
    client: always,
    server: always,
    run: async (client) => {
      const names = (await listResult(client, "tools/list", "tools")).map(({ name }) => String(name));
      return names.includes("m_echo") && names.includes("m_show") ? works : `degraded: ${names.join(", ")}`;
    },
  },
  {
    title: "tools: call",
    client: always,
    server: always,
    run: async (client) => {
      const answer = await call(client, "m_echo", { text: "exact" });
      return judged(answer, textOf(answer) === '"exact"');
    },
  },
  {
    title: "structured results",
    client: since("2025-06-18"),
    server: since("2025-06-18"),
    run: async (client) => {
      const answer = await call(client, "m_structured", { text: "x" });
      return judged(answer, JSON.stringify(answer.result?.["structuredContent"]) === '{"n":9,"text":"x"}');
    },
  },
  {
    title: "images, audio, embedded resources, links",
    client: always,
    server: always,
    run: async (client, { revision }) => {
      const answer = await call(client, "m_kinds");
      const kinds = ((answer.result?.["content"] ?? []) as Loose[]).map(({ type }) => type);
      return judged(answer, kinds.length === (revision >= "2025-06-18" ? 4 : 3));
    },
  },
  {
    title: "resources: list, read, templates",
    client: always,
    server: always,
    run: async (client) => {
      const listed = await listResult(client, "resources/list", "resources");
      const templates = await listResult(client, "resources/templates/list", "resourceTemplates");
      const plain = await client.request("resources/read", { uri: "matrix://text" });
      const templated = await client.request("resources/read", { uri: "matrix://item/7" });
      const both = [plain, templated].every(({ result }) => JSON.stringify(result).includes("content of matrix://"));
      return judged(plain, both && listed.length === 2 && templates.length === 1);
    },
  },
  {
    title: "prompts",
    client: always,
    server: always,
    run: async (client) => {
      const answer = await client.request("prompts/get", { name: "m_greet", arguments: { who: "you" } });
      return judged(answer, Array.isArray(answer.result?.["messages"]));
    },
  },
  {
    title: "completion",
    client: always,
    server: always,
    run: async (client) => {
      const ref = { type: "ref/prompt", name: "m_greet" };
      const answer = await client.request("completion/complete", { ref, argument: { name: "who", value: "o" } });
      return judged(answer, JSON.stringify(answer.result?.["completion"]) === '{"values":["one","two"]}');
    },
  },
  {
    title: "progress of a call",
    client: always,
    server: always,
    run: async (client) => {
      const answer = await client.request("tools/call", { name: "m_report", arguments: {} }, { progressToken: 0 });
      const tokens = answer.before.map(({ params }) => (params as Loose)["progressToken"]);
      return judged(answer, JSON.stringify(tokens) === "[0,0]");
    },
  },
  {
    title: "log messages of a call, from a level up",
    client: always,
    server: always,
    run: async (client) => {
      if (client.isLegacy) {
        const set = await client.request("logging/setLevel", { level: "info" });
        if (set.error !== undefined) return judged(set, false);
      }
      const answer = await client.request("tools/call", { name: "m_tell", arguments: {} }, { logLevel: "info" });
      const levels = answer.before.map(({ params }) => (params as Loose)["level"]);
      return judged(answer, JSON.stringify(levels) === '["info","warning"]');
    },
  },
  asking("questions: a form", "m_ask_form", "2025-06-18", '"word":"yes"'),
  asking("questions: a page to open", "m_ask_url", "2025-11-25", '"accept"'),
  asking("sampling", "m_ask_model", "2025-03-26", '"yes"'),
  asking("sampling with tools", "m_ask_model_with_tools", "2025-11-25", '"yes"'),
  asking("roots", "m_ask_roots", "2025-03-26", "file:///work"),
  {
    title: "cancellation",
    client: always,
    server: always,
    run: async (client, server) => {
      const text = `slow of ${client.revision}`;
      const leaving = new AbortController();
      const id = 77;
      const pending = client.isLegacy
        ? client.raw({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "m_slow", arguments: { text } } })
        : client.request("tools/call", { name: "m_slow", arguments: { text } }, { signal: leaving.signal });
      await until(() => server.started.includes(text));
      if (client.isLegacy) await client.notify("notifications/cancelled", { requestId: id });
      else leaving.abort();
      await pending.catch(() => undefined);
      await until(() => server.cancelled.includes(text));
      return works;
    },
  },
  {
    title: "changes of the list of tools",
    client: always,
    server: always,
    run: async (client) => {
      const heard = await client.listen({ toolsListChanged: true });
      return noticed(client, "m_change", "notifications/tools/list_changed", heard);
    },
  },
  {
    title: "updates of a resource",
    client: always,
    server: always,
    run: async (client) => {
      const heard = await client.listen({ resourceSubscriptions: ["matrix://text"] });
      if (client.isLegacy) {
        const subscribed = await client.request("resources/subscribe", { uri: "matrix://text" });
        if (subscribed.error !== undefined) return judged(subscribed, false);
      }
      return noticed(client, "m_touch", "notifications/resources/updated", heard);
    },
  },
  {
    title: "tasks",
    client: since("2025-11-25"),
    server: since("2025-11-25"),
    run: async (client) => {
      const declared = JSON.stringify(client.welcome["capabilities"]).includes("tasks");
      if (!declared) return "not offered";
      const made = await call(client, "m_later", {}, client.isLegacy ? { task: { ttl: 60_000 } } : {});
      const task = ((client.isLegacy ? made.result?.["task"] : made.result) ?? {}) as Loose;
      if (typeof task["taskId"] !== "string") return judged(made, false);
      const { taskId } = task;
      const got = await client.request("tasks/get", { taskId });
      if (!client.isLegacy) return judged(got, JSON.stringify(got.result).includes('"later"'));
      const result = await client.request("tasks/result", { taskId });
      return judged(result, textOf(result) === "later" && got.result?.["status"] === "completed");
    },
  },
  {
    title: "MCP Apps",
    client: always,
    server: always,
    run: async (client) => {
      const tools = await listResult(client, "tools/list", "tools");
      const shown = tools.find(({ name }) => name === "m_show")?.["_meta"] as Loose | undefined;
      const page = await client.request("resources/read", { uri: "ui://matrix/show" });
      const { resourceUri } = (shown?.["ui"] ?? {}) as Loose;
      return judged(page, resourceUri === "ui://matrix/show");
    },
  },
];
