import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { alice, startInterop } from "./interop-gateway.ts";
import type { InteropGateway } from "./interop-gateway.ts";
import { createPerson } from "../../deploy/quickstart/person.ts";
import type { Person } from "../../deploy/quickstart/person.ts";
import { rejection } from "./rejection.ts";
import { kinds } from "../../deploy/quickstart/clients.ts";
import { connect } from "./sdk-clients.ts";
import type { SdkClient, Kind, Loose } from "../../deploy/quickstart/clients.ts";

let interop: InteropGateway;

beforeAll(async () => {
  interop = await startInterop();
});

afterAll(async () => {
  await interop.stop();
});

const revisions: Readonly<Record<Kind, string>> = {
  v1: "2025-11-25",
  "v2 legacy": "2025-11-25",
  "v2 auto": "2026-07-28",
  "v2 pinned": "2026-07-28",
};

describe.each(kinds)("SDK client %s", (kind) => {
  const era = revisions[kind] === "2026-07-28" ? "modern" : "legacy";
  const people = new Map<string, Person>();
  const clients = new Map<string, SdkClient>();

  beforeAll(async () => {
    for (const server of ["everything", "tickets", "crm", "desk"]) {
      const person = createPerson(alice);
      people.set(server, person);
      clients.set(server, await connect(kind, interop.url(server), person));
    }
  });

  afterAll(async () => {
    for (const client of clients.values()) await client.close();
  });

  const at = (server: string): SdkClient => clients.get(server)!;

  describe("in front of any server", () => {
    it("registers once, sends the person to sign in once, and gets the scopes of the challenge", () => {
      for (const [server, { visits, registrations, tokens }] of people) {
        expect(visits, server).toBe(1);
        expect(registrations, server).toHaveLength(1);
        expect(tokens, server).toMatchObject({ token_type: "Bearer", scope: "mcp:use" });
        expect(typeof tokens?.refresh_token, server).toBe("string");
      }
    });

    it("negotiates the newest revision it speaks, whatever the server behind speaks", () => {
      for (const [server, client] of clients) expect(client.revision, server).toBe(revisions[kind]);
    });

    it("notices nothing amiss: neither a stream that is not offered nor changes that are not announced", () => {
      for (const [server, { errors }] of clients) expect(errors, server).toEqual([]);
    });

    it("meets the gateway, with the server's title and instructions", () => {
      const desk = at("desk");
      expect(desk.serverInfo).toMatchObject({ name: "sallyport", title: "The desk" });
      const changing = { listChanged: true };
      expect(desk.capabilities).toEqual({
        tools: changing,
        prompts: changing,
        resources: { ...changing, subscribe: true },
        completions: {},
        logging: {},
        // The modern revision has tasks as an extension, which none of these servers offers.
        ...(era === "legacy" ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } } : {}),
      });
      expect(desk.instructions).toMatch(/^Ask for tickets first\.\n\n# Everything Server/);
    });

    it("is not let in with another server's token, and sends the person to sign in", async () => {
      const person = createPerson(alice);
      const { refresh_token, ...token } = people.get("tickets")!.tokens!;
      person.keepTokens(token);
      const client = await connect(kind, interop.url("crm"), person);
      expect(person.visits).toBe(1);
      expect(person.tokens?.access_token).not.toBe(token.access_token);
      expect(await client.listTools()).not.toHaveLength(0);
      await client.close();
      expect(refresh_token).toBeDefined();
    });

    it("gets no token for one server with the refresh token of another", async () => {
      const person = createPerson(alice);
      await connect(kind, interop.url("tickets"), person).then((client) => client.close());
      // What an application discovers it keeps by server; here it mixes up the tokens alone.
      await person.provider.invalidateCredentials?.("discovery");
      const error = await rejection(connect(kind, interop.url("crm"), person));
      expect(error).toMatchObject({ [kind === "v1" ? "errorCode" : "code"]: "invalid_target" });
    });

    it("is answered the same for an item that is hidden and one that does not exist", async () => {
      const errors = [];
      for (const name of ["c_delete_customer", "c_no_such_tool"])
        errors.push({ name, error: await rejection(at("desk").callTool(name, { id: "C-117" })) });
      for (const { error } of errors) expect(error).toMatchObject({ code: -32602, data: { refusal: "ITEM_UNKNOWN" } });
      expect(errors.map(({ name, error }) => error.message.replaceAll(name, "?"))).toEqual(
        Array.from({ length: 2 }, () => `${kind === "v1" ? "MCP error -32602: " : ""}Unknown tool: ?`),
      );
      expect(interop.crm.received.filter(({ name }) => name === "delete_customer")).toEqual([]);
    });

    it("is told that a resource does not exist, which v2 renders alike in both eras", async () => {
      const error = await rejection(at("desk").readResource("crm://nowhere"));
      expect(error).toMatchObject({ code: kind === "v1" ? -32002 : -32602, data: { uri: "crm://nowhere" } });
    });

    it("is told that a prompt does not exist", async () => {
      const error = await rejection(at("desk").getPrompt("nowhere", {}));
      expect(error).toMatchObject({ code: -32602, data: { refusal: "ITEM_UNKNOWN" } });
    });
  });

  describe("in front of server-everything", () => {
    it("lists every item as the server defines it", async () => {
      const direct = await listedDirectly(interop.everything.url);
      const client = at("everything");
      expect(await client.listTools()).toEqual(era === "modern" ? direct.tools.map(withoutExecution) : direct.tools);
      expect(await client.listPrompts()).toEqual(direct.prompts);
      expect(await client.listResources()).toEqual(direct.resources);
      expect(await client.listTemplates()).toEqual(direct.templates);
      expect(direct.tools.length).toBeGreaterThan(10);
    });

    it("calls tools and gets text, structured content and images", async () => {
      const client = at("everything");
      expect(await client.callTool("echo", { message: "hello" })).toMatchObject({
        content: [{ type: "text", text: "Echo: hello" }],
      });
      expect(await client.callTool("get-sum", { a: 2, b: 40 })).toMatchObject({
        content: [{ type: "text", text: "The sum of 2 and 40 is 42." }],
      });
      expect(await client.callTool("get-structured-content", { location: "Chicago" })).toMatchObject({
        structuredContent: { temperature: 36, conditions: "Light rain / drizzle", humidity: 82 },
      });
      const { content } = await client.callTool("get-tiny-image");
      const image = (content as Loose[]).find(({ type }) => type === "image");
      expect(image).toMatchObject({ mimeType: "image/png" });
      expect(Buffer.from(String(image!["data"]), "base64").subarray(1, 4).toString("latin1")).toBe("PNG");
    });

    it("reads a file, and text and binary resources of templates", async () => {
      const client = at("everything");
      const file = await client.readResource("demo://resource/static/document/features.md");
      expect(String(contentsOf(file)["text"])).toMatch(/^# Everything Server/);
      const text = await client.readResource("demo://resource/dynamic/text/7");
      expect(String(contentsOf(text)["text"])).toMatch(/^Resource 7: This is a plaintext resource/);
      const blob = await client.readResource("demo://resource/dynamic/blob/9");
      expect(Buffer.from(String(contentsOf(blob)["blob"]), "base64").toString("utf8")).toMatch(/^Resource 9: /);
    });

    it("gets a prompt with arguments, and one that embeds a resource", async () => {
      const client = at("everything");
      expect(await client.getPrompt("args-prompt", { city: "Oslo", state: "Norway" })).toMatchObject({
        messages: [{ role: "user", content: { type: "text", text: "What's weather in Oslo, Norway?" } }],
      });
      const embedded = await client.getPrompt("resource-prompt", { resourceType: "Text", resourceId: "3" });
      expect((embedded["messages"] as Loose[])[1]).toMatchObject({
        content: { type: "resource", resource: { uri: "demo://resource/dynamic/text/3" } },
      });
    });
  });

  describe("in front of a modern server", () => {
    it("lists every item", async () => {
      const client = at("tickets");
      const tools = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["list_tickets", "get_ticket", "create_ticket", "list_queues"]);
      expect(tools.map(({ outputSchema }) => outputSchema !== undefined)).toEqual([true, true, false, true]);
      expect((await client.listPrompts()).map(({ name }) => name)).toEqual(["draft_reply"]);
      expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["tickets://handbook/escalation"]);
      expect((await client.listTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual(["tickets://ticket/{id}"]);
    });

    it("calls, reads and gets", async () => {
      const client = at("tickets");
      expect(await client.callTool("get_ticket", { id: "T-1002" })).toMatchObject({
        structuredContent: { id: "T-1002", customer: "C-117", traceId: 18014398509482004 },
      });
      const handbook = await client.readResource("tickets://handbook/escalation");
      expect(contentsOf(handbook)).toMatchObject({ mimeType: "text/markdown" });
      expect(String(contentsOf(handbook)["text"])).toMatch(/^# Escalation/);
      const ticket = await client.readResource("tickets://ticket/T-1003");
      expect(String(contentsOf(ticket)["text"])).toMatch(/^We moved in October/);
      const prompt = await client.getPrompt("draft_reply", { id: "T-1002", tone: "formal" });
      expect(prompt["messages"]).toMatchObject([
        { content: { text: expect.stringMatching(/^Draft a formal reply to: The reset link/) as string } },
      ]);
    });

    it("gets a tool's own error and a refusal of its arguments as results that a model can read", async () => {
      const client = at("tickets");
      expect(await client.callTool("get_ticket", { id: "T-9999" })).toMatchObject({
        isError: true,
        content: [{ type: "text", text: "There is no ticket T-9999." }],
      });
      const refused = await client.callTool("get_ticket", { id: "nonsense" });
      expect(refused).toMatchObject({
        isError: true,
        _meta: { "io.sallyport/refusal": { code: "ARGUMENTS_INVALID" } },
      });
    });
  });

  describe("in front of a legacy server", () => {
    it("lists every item but the hidden ones", async () => {
      const client = at("crm");
      expect((await client.listTools()).map(({ name }) => name)).toEqual([
        "get_customer",
        "find_customers",
        "export_customers",
        "update_customer",
      ]);
      expect((await client.listPrompts()).map(({ name }) => name)).toEqual(["win_back_letter"]);
      expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["crm://regions"]);
      expect((await client.listTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual([
        "crm://customers/{id}/notes",
      ]);
    });

    it("calls, reads and gets", async () => {
      const client = at("crm");
      expect(await client.callTool("find_customers", { name: "Atelier" })).toMatchObject({
        content: [{ type: "text", text: '[{"id":"C-331","name":"Atelier Moreau"}]' }],
      });
      expect(contentsOf(await client.readResource("crm://regions"))).toMatchObject({ text: "north\nsouth\nwest" });
      expect(contentsOf(await client.readResource("crm://customers/C-117/notes"))).toMatchObject({
        text: "Prefers e-mail. Writes in Swedish and English.",
      });
      expect((await client.getPrompt("win_back_letter", { id: "C-204" }))["messages"]).toMatchObject([
        { content: { text: "Write a short letter to Okafor Legal LLP." } },
      ]);
    });

    it("gets a refusal of policy as a result, with the words of the rule", async () => {
      const ids = ["C-117", "C-204", "C-331"];
      const refused = await at("crm").callTool("export_customers", { ids });
      expect(refused).toMatchObject({ isError: true, _meta: { "io.sallyport/refusal": { code: "POLICY_DENIED" } } });
      expect(JSON.stringify(refused["content"])).toContain("Ask for at most 2 ids.");
      expect(await at("crm").callTool("export_customers", { ids: ids.slice(1) })).not.toHaveProperty("isError");
    });

    it("gets a tool's own error as a result", async () => {
      expect(await at("crm").callTool("get_customer", { id: "C-999" })).toMatchObject({ isError: true });
    });

    it("shows the upstream the gateway's own key and never the caller's token", () => {
      expect(interop.crm.received.length).toBeGreaterThan(0);
      for (const { headers } of interop.crm.received) {
        expect(headers["authorization"]).toBeUndefined();
        expect(headers["x-api-key"]).toBe("crm-key-of-the-gateway");
      }
    });
  });

  if (era === "legacy")
    it("pings, and ends its session, after which its requests are refused", async () => {
      const client = await connect(kind, interop.url("crm"), people.get("crm")!);
      await client.ping();
      await client.terminate();
      const error = await rejection(client.listTools());
      expect(error.message).toMatch(/Mcp-Session-Id is missing/);
      await client.close();
    });
});

/** The modern revision knows no `execution`, and v2 leaves it out of what it hands on. */
function withoutExecution(tool: Loose): Loose {
  return Object.fromEntries(Object.entries(tool).filter(([key]) => key !== "execution"));
}

function contentsOf(result: Loose): Loose {
  const [first] = result["contents"] as Loose[];
  return first ?? {};
}

interface Listed {
  readonly tools: Loose[];
  readonly prompts: Loose[];
  readonly resources: Loose[];
  readonly templates: Loose[];
}

async function listedDirectly(url: string): Promise<Listed> {
  const client = new Client({ name: "direct", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const listed = {
    tools: (await client.listTools()).tools,
    prompts: (await client.listPrompts()).prompts,
    resources: (await client.listResources()).resources,
    templates: (await client.listResourceTemplates()).resourceTemplates,
  };
  await client.close();
  return listed;
}
