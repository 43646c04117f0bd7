import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { rejection } from "./rejection.ts";
import { spawnEverything } from "./spawn-everything.ts";
import type { Everything } from "./spawn-everything.ts";

type Loose = Record<string, unknown>;

let everything: Everything;
let gateway: GatewayUnderTest;
let client: Client;
let asked: Loose[];

beforeAll(async () => {
  everything = await spawnEverything();
  const upstreams = { everything: everything.url };
  gateway = await startGatewayUnderTest({ upstreams, servers: { s: { everything: "e_" } } });
});

afterAll(async () => {
  await gateway.remove();
  await everything.close();
});

beforeEach(async () => {
  asked = [];
  client = new Client({ name: "interop", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params);
    return { action: "accept", content: { interpretation: "technical" } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.publicUrl}/s/mcp`)));
  return () => client.close();
});

/** Runs the tool as the SDK does: creates the task, polls it, and fetches its result when it ends or needs input. */
async function research(ambiguous: boolean): Promise<Loose[]> {
  // The SDK learns from a list which tools run as tasks.
  await client.listTools();
  const params = { name: "e_simulate-research-query", arguments: { topic: "python", ambiguous } };
  const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } });
  const messages: Loose[] = [];
  for await (const message of stream) messages.push(message as unknown as Loose);
  return messages;
}

describe("SDK v1 in front of server-everything", () => {
  it("runs a tool as a task to its end", async () => {
    const messages = await research(false);
    expect(messages[0]).toMatchObject({ type: "taskCreated", task: { status: "working" } });
    expect(messages.at(-1)).toMatchObject({ type: "result", result: { content: [{ type: "text" }] } });
    const ids = messages.flatMap(({ task }) => (task === undefined ? [] : [(task as Loose)["taskId"]]));
    expect(new Set(ids).size).toBe(1);
  }, 30_000);

  it("is asked what the task needs, and told which task asks", async () => {
    const messages = await research(true);
    const { taskId } = messages[0]!["task"] as { taskId: string };
    expect(asked).toMatchObject([{ _meta: { "io.modelcontextprotocol/related-task": { taskId } } }]);
    expect(messages.at(-1)).toMatchObject({ type: "result" });
  }, 30_000);

  it("lists its tasks, cancels one, and hears that another does not exist", async () => {
    const params = { name: "e_simulate-research-query", arguments: { topic: "gates" }, task: { ttl: 60_000 } };
    const { task } = (await client.request({ method: "tools/call", params }, CreateTaskResultSchema)) as {
      task: Loose;
    };
    const taskId = String(task["taskId"]);
    const listed = (await client.experimental.tasks.listTasks()).tasks.map((one) => one.taskId);
    expect(listed).toContain(taskId);
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
    expect(await rejection(client.experimental.tasks.getTask("nothing"))).toMatchObject({ code: -32602 });
  });
});
