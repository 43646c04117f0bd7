import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { legacyCall, openSession } from "../journey/wire-client.ts";
import { alice, startInterop } from "./interop-gateway.ts";
import type { InteropGateway } from "./interop-gateway.ts";
import { createPerson } from "../../deploy/quickstart/person.ts";
import type { Person } from "../../deploy/quickstart/person.ts";
import { rejection } from "./rejection.ts";
import { isUnauthorized, kinds } from "../../deploy/quickstart/clients.ts";
import { connect } from "./sdk-clients.ts";
import type { SdkClient, Kind } from "../../deploy/quickstart/clients.ts";

let interop: InteropGateway;
const opened: SdkClient[] = [];

beforeAll(async () => {
  interop = await startInterop();
});

afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
});

afterAll(async () => {
  await interop.stop();
});

const update = { id: "C-117", fields: ["phone"], values: ["+46 8 5550 0118"] };

describe("a tool that lacks only a scope", () => {
  it.each(kinds)("is listed for client %s", async (kind) => {
    const client = await open(kind, createPerson(alice));
    expect((await client.listTools()).map(({ name }) => name)).toContain("update_customer");
  });

  it.each(["v2 legacy", "v2 auto", "v2 pinned"] as const)(
    "makes client %s send the person back for all scopes, after which the call goes through",
    async (kind) => {
      const person = createPerson(alice);
      const client = await open(kind, person);
      const before = updates();
      expect(isUnauthorized(await rejection(client.callTool("update_customer", update)))).toBe(true);
      expect(updates()).toBe(before);
      expect(person.visits).toBe(2);
      expect(person.scopeAsked).toBe("mcp:use crm:write");

      await client.finishAuth(await person.signIn());
      expect(person.tokens?.scope).toBe("mcp:use crm:write");
      expect(await client.callTool("update_customer", update)).toMatchObject({
        content: [{ type: "text", text: "Updated phone of C-117." }],
      });
      expect(updates()).toBe(before + 1);
      expect(person.registrations).toHaveLength(1);
    },
  );

  it("makes client v1 refresh first, which widens nothing, and end with the 403", async () => {
    const person = createPerson(alice);
    const client = await open("v1", person);
    const first = person.tokens?.access_token;
    const before = updates();
    const error = await rejection(client.callTool("update_customer", update));
    expect(error).toMatchObject({ code: 403, message: expect.stringMatching(/403 after trying upscoping/) as string });
    expect(person.visits).toBe(1);
    expect(person.tokens?.access_token).not.toBe(first);
    expect(person.tokens?.scope).toBe("mcp:use");
    expect(updates()).toBe(before);
    // The session survives.
    expect(await client.callTool("get_customer", { id: "C-117" })).not.toMatchObject({ isError: true });
  });

  it("makes client v1 send the person back when the application keeps no refresh token", async () => {
    const person = createPerson(alice);
    await open("v1", person);
    person.keepTokens(withoutRefresh(person.tokens));
    const client = await open("v1", person);
    const before = updates();
    expect(isUnauthorized(await rejection(client.callTool("update_customer", update)))).toBe(true);
    expect(person.scopeAsked).toBe("crm:write mcp:use");
    await client.finishAuth(await person.signIn());
    expect(await client.callTool("update_customer", update)).not.toMatchObject({ isError: true });
    expect(updates()).toBe(before + 1);
  });

  it("is answered with one and the same challenge however often it is called", async () => {
    const person = createPerson(alice);
    await open("v1", person);
    const caller = { gateway: interop.gateway, server: "crm", token: person.tokens?.access_token };
    const session = await openSession(caller);
    const call = (): ReturnType<typeof legacyCall> =>
      legacyCall(session, "tools/call", { name: "update_customer", arguments: update });
    const [once, twice] = [await call(), await call()];
    const challenge = once.headers["www-authenticate"];
    expect(once.status).toBe(403);
    expect(challenge).toMatch(/^Bearer error="insufficient_scope", /);
    expect(challenge).toContain('scope="crm:write mcp:use"');
    expect(challenge).toContain(
      `resource_metadata="${interop.gateway.publicUrl}/.well-known/oauth-protected-resource/crm/mcp"`,
    );
    expect(twice.headers["www-authenticate"]).toBe(challenge);
  });
});

describe("a person who does not allow access", () => {
  it.each(["v2 legacy", "v2 auto", "v2 pinned"] as const)("leaves client %s with access_denied", async (kind) => {
    const person = createPerson({ ...alice, answer: "deny" });
    await expect(open(kind, person)).rejects.toMatchObject({ code: "access_denied" });
    expect(person.tokens).toBeUndefined();
  });
});

async function open(kind: Kind, person: Person): Promise<SdkClient> {
  const client = await connect(kind, interop.url("crm"), person);
  opened.push(client);
  return client;
}

/** How many updates reached the server behind the gateway. */
function updates(): number {
  return interop.crm.received.filter(({ name }) => name === "update_customer").length;
}

function withoutRefresh(tokens: Person["tokens"]): Person["tokens"] {
  if (tokens === undefined) return undefined;
  const { refresh_token, ...rest } = tokens;
  expect(refresh_token).toBeDefined();
  return rest;
}
