import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alice, startInterop } from "./interop-gateway.ts";
import type { InteropGateway } from "./interop-gateway.ts";
import { startRemote } from "./mcp-remote.ts";
import type { Remote } from "./mcp-remote.ts";
import { rejection } from "./rejection.ts";

let interop: InteropGateway;

beforeAll(async () => {
  interop = await startInterop();
});

afterAll(async () => {
  await interop.stop();
});

const ways = [
  { way: "legacy", options: [], era: "legacy" },
  { way: "auto", options: ["--protocol", "auto"], era: "modern" },
] as const;

describe.each(ways)("mcp-remote with protocol $way", ({ options, era }) => {
  let remote: Remote;

  beforeAll(async () => {
    remote = await startRemote(interop.url("desk"), { login: alice, options });
  });

  afterAll(async () => {
    await remote.close();
  });

  it("finds the authorization server by itself and sends the person there once", () => {
    expect(remote.visits.map(({ origin }) => origin)).toEqual([interop.gateway.publicUrl]);
    const asked = remote.visits[0]!.searchParams;
    expect(asked.get("resource")).toBe(interop.url("desk"));
    expect(asked.get("scope")).toBe("mcp:use");
    expect(asked.get("code_challenge_method")).toBe("S256");
  });

  it("shows the application the gateway, its title and its instructions", () => {
    expect(remote.client.getServerVersion()).toMatchObject({ name: "sallyport" });
    expect(remote.client.getInstructions()).toMatch(/^Ask for tickets first\./);
  });

  it("lists what this person sees, and no hidden tool", async () => {
    const names = (await remote.client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["t_get_ticket", "c_find_customers", "e_echo"]));
    expect(names).not.toContain("c_delete_customer");
  });

  it("calls tools of a modern server, a legacy one and server-everything", async () => {
    const call = (name: string, args: Record<string, unknown>): Promise<unknown> =>
      remote.client.callTool({ name, arguments: args });
    expect(await call("e_echo", { message: "hello" })).toMatchObject({ content: [{ text: "Echo: hello" }] });
    expect(await call("c_find_customers", { name: "Atelier" })).toMatchObject({
      content: [{ text: '[{"id":"C-331","name":"Atelier Moreau"}]' }],
    });
    expect(await call("t_list_tickets", {})).toHaveProperty("structuredContent");
  });

  it("reads a resource and gets a prompt", async () => {
    expect(await remote.client.readResource({ uri: "crm://regions" })).toMatchObject({
      contents: [{ text: "north\nsouth\nwest" }],
    });
    expect(await remote.client.getPrompt({ name: "c_win_back_letter", arguments: { id: "C-204" } })).toHaveProperty(
      "messages",
    );
  });

  it("hands on a refusal of policy as a result, and one for a hidden tool as for an unknown one", async () => {
    const ids = ["C-117", "C-204", "C-331"];
    const refused = await remote.client.callTool({ name: "c_export_customers", arguments: { ids } });
    expect(refused).toMatchObject({ isError: true, _meta: { "io.sallyport/refusal": { code: "POLICY_DENIED" } } });
    const messages = [];
    for (const name of ["c_delete_customer", "c_no_such_tool"]) {
      const error = await rejection(remote.client.callTool({ name, arguments: {} }));
      messages.push(error.message.replaceAll(name, "?"));
    }
    expect(messages[0]).toContain("Unknown tool: ?");
    expect(messages[1]).toBe(messages[0]);
  });

  it("spoke the era it said it would, to the gateway alone", () => {
    const events = interop.gateway.audit().filter(({ method }) => method === "tools/call");
    expect(new Set(events.slice(-3).map(({ client }) => client?.era))).toEqual(new Set([era]));
    for (const { headers } of interop.crm.received) expect(headers["authorization"]).toBeUndefined();
  });
});
