import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allHabits } from "./client-habits.ts";
import type { Habits } from "./client-habits.ts";
import { connectAs, ConnectionDead, RpcFailure } from "./habitual-client.ts";
import type { HabitualClient } from "./habitual-client.ts";
import { alice, startInterop } from "./interop-gateway.ts";
import type { InteropGateway } from "./interop-gateway.ts";
import { rejection } from "./rejection.ts";

type Loose = Record<string, unknown>;

let interop: InteropGateway;

beforeAll(async () => {
  interop = await startInterop();
});

afterAll(async () => {
  await interop.stop();
});

const connect = (habits: Habits, server = "desk"): Promise<HabitualClient> =>
  connectAs(habits, interop.url(server), alice);

function namesIn(listed: Loose): unknown[] {
  return (listed["tools"] as Loose[]).map(({ name }) => name);
}

/** How often the crm was asked for a tool. */
function callsOf(name: string): number {
  return interop.crm.received.filter((received) => received.name === name).length;
}

describe.each(allHabits)("a $name client", (habits) => {
  const era = habits.opens === "probe" ? "modern" : "legacy";
  let client: HabitualClient;

  beforeAll(async () => {
    client = await connect(habits);
  });

  it("signs in once, with nothing but the URL, and opens in its own era without a detour", () => {
    expect(client.signIns).toBe(1);
    expect(client.era).toBe(era);
    const opening =
      era === "modern" ? ["POST server/discover 200"] : ["POST initialize 200", "POST notifications/initialized 202"];
    expect(client.trail.slice(0, opening.length)).toEqual(opening);
  });

  it("is granted what every session needs, whether it asks for what the challenge names or all that is listed", () => {
    expect(client.scope).toBe("mcp:use");
  });

  it("lists and calls, whatever the server behind speaks", async () => {
    const names = namesIn(await client.request("tools/list"));
    expect(names).toEqual(expect.arrayContaining(["t_get_ticket", "c_find_customers", "e_echo"]));
    const echoed = await client.request("tools/call", { name: "e_echo", arguments: { message: "hello" } });
    expect(echoed).toMatchObject({ content: [{ type: "text", text: "Echo: hello" }] });
    const found = await client.request("tools/call", { name: "c_find_customers", arguments: { name: "Atelier" } });
    expect(found).toMatchObject({ content: [{ text: '[{"id":"C-331","name":"Atelier Moreau"}]' }] });
    expect(await client.request("tools/call", { name: "t_list_tickets", arguments: {} })).toHaveProperty(
      "structuredContent",
    );
    expect(echoed["resultType"]).toBe(era === "modern" ? "complete" : undefined);
  });

  it("meets a hidden tool as an unknown one: an error in band, nothing sent twice, and it goes on", async () => {
    const before = client.trail.length;
    const errors = [];
    for (const name of ["c_delete_customer", "c_no_such_tool"]) {
      const error = await rejection(client.request("tools/call", { name, arguments: { id: "C-117" } }));
      expect(error).toBeInstanceOf(RpcFailure);
      expect(error).toMatchObject({ code: -32602 });
      errors.push(error.message.replaceAll(name, "?"));
    }
    expect(errors[0]).toBe(errors[1]);
    expect(client.trail.slice(before)).toEqual(["POST tools/call 200", "POST tools/call 200"]);
    expect(callsOf("delete_customer")).toBe(0);
    expect(namesIn(await client.request("tools/list"))).not.toContain("c_delete_customer");
  });

  it("gets a refusal of policy as a result, without a 401 or 403 that would send it to sign in", async () => {
    const ids = ["C-117", "C-204", "C-331"];
    const before = client.trail.length;
    const refused = await client.request("tools/call", { name: "c_export_customers", arguments: { ids } });
    expect(refused).toMatchObject({ isError: true });
    expect(client.trail.slice(before)).toEqual(["POST tools/call 200"]);
    expect(client.signIns).toBe(1);
  });

  it("is told of an unknown method with a message that it can read, and survives it", async () => {
    const error = await rejection(client.request("tools/frobnicate"));
    expect(error).toMatchObject({ code: -32601 });
    // In a session every 404 is a lost one to some clients: a method that does not exist must not be one.
    expect(client.trail.at(-1)).toBe(`POST tools/frobnicate ${era === "modern" ? 404 : 200}`);
    expect(namesIn(await client.request("tools/list"))).toContain("e_echo");
  });

  it("opens the stream that servers may send on, and it begins as its era has it", async () => {
    const own = await connect(habits);
    const stream = await own.openStream();
    // A 5xx breaks a Go-style client, anything from 400 on ends the channel of VS Code for good.
    expect([stream.status, stream.contentType]).toEqual([200, "text/event-stream"]);
    expect(stream.beginning).not.toMatch(/^id:/m);
    if (era === "modern") {
      const first = JSON.parse(/^data: (.*)$/m.exec(stream.beginning)?.[1] ?? "") as Loose;
      expect(first).toMatchObject({
        method: "notifications/subscriptions/acknowledged",
        params: { _meta: { "io.modelcontextprotocol/subscriptionId": "listen:0" } },
      });
    } else expect(stream.beginning).toMatch(/^:/);
    expect(namesIn(await own.request("tools/list"))).toContain("e_echo");
  });

  it("that lacks a scope gets what its habit makes of the 403, and the call is carried out once at most", async () => {
    const own = await connect(habits);
    const before = callsOf("update_customer");
    const args = { id: "C-117", fields: ["phone"], values: ["+46 8 5550 0118"] };
    const call = own.request("tools/call", { name: "c_update_customer", arguments: args });
    const posts = (): string[] => own.trail.filter((step) => step.startsWith("POST tools/call"));
    if (habits.stepsUp) {
      expect(await call).toHaveProperty("content");
      expect(own.scope).toBe("mcp:use crm:write");
      expect(own.signIns).toBe(2);
      expect(callsOf("update_customer")).toBe(before + 1);
    } else {
      expect(await rejection(call)).toMatchObject({ data: { refusal: "SCOPE_INSUFFICIENT" } });
      expect(posts()).toEqual(Array.from({ length: habits.resendsAfter403 ? 2 : 1 }, () => "POST tools/call 403"));
      expect(callsOf("update_customer")).toBe(before);
    }
    expect(namesIn(await own.request("tools/list"))).toContain("e_echo");
  });

  if (era === "legacy") {
    it("recovers from a session that is gone, in its own way and without signing in again", async () => {
      const own = await connect(habits);
      const { session, token } = own;
      const headers = { authorization: `Bearer ${token}`, "mcp-session-id": session ?? "" };
      expect((await fetch(interop.url("desk"), { method: "DELETE", headers })).status).toBe(200);
      const listing = own.request("tools/list");
      if (habits.reopensOn.includes(404)) {
        expect(namesIn(await listing)).toContain("e_echo");
        expect(own.session).not.toBe(session);
        expect(own.trail.slice(-4)).toEqual([
          "POST tools/list 404",
          "POST initialize 200",
          "POST notifications/initialized 202",
          "POST tools/list 200",
        ]);
      } else {
        const error = await rejection(listing);
        // A body that says what is wrong: without one, strict clients close the connection.
        expect(error).not.toBeInstanceOf(ConnectionDead);
        expect(error).toMatchObject({ code: -32001, message: "Session not found" });
        expect(own.trail.at(-1)).toBe("POST tools/list 404");
        expect((await rejection(own.request("tools/list"))).message).toBe("Session not found");
      }
      expect(own.signIns).toBe(1);
    });
  }
});

describe("a client that meets its session after another one ended it", () => {
  it.each(["2025-11-25", undefined])(
    "with revision %s in the header: 404 for an unknown session, 400 for none",
    async (revision) => {
      const habits = { ...allHabits.find(({ name }) => name.startsWith("VS Code"))!, reopensOn: [] };
      const { token } = await connect(habits);
      const ask = (session: string | undefined): Promise<Response> =>
        fetch(interop.url("desk"), {
          method: "POST",
          body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "tools/list" }),
          headers: {
            "content-type": "application/json",
            accept: habits.accept,
            authorization: `Bearer ${token}`,
            ...(session === undefined ? {} : { "mcp-session-id": session }),
            ...(revision === undefined ? {} : { "mcp-protocol-version": revision }),
          },
        });
      const [unknown, missing] = [await ask("AAAAAAAAAAAAAAAAAAAAAA"), await ask(undefined)];
      expect([unknown.status, missing.status]).toEqual([404, 400]);
      expect(await unknown.json()).toMatchObject({ jsonrpc: "2.0", id: 0, error: { code: -32001 } });
      expect(await missing.json()).toMatchObject({ jsonrpc: "2.0", id: 0, error: { code: -32000 } });
      for (const { headers } of [unknown, missing]) expect(headers.get("www-authenticate")).toBeNull();
    },
  );
});
