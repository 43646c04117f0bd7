import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, type GatewayUnderTest } from "./gateway-under-test.ts";
import { startListingUpstream, used } from "./listing-upstream.ts";
import { legacyCall, modernCall, openSession, type Caller } from "./wire-client.ts";

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

const hide = { resources: ["docs://inner/**"] };
const everybody = { anyone: true };

beforeAll(async () => {
  upstream = await startListingUpstream({
    resources: [
      { uri: "docs://open/a", name: "open" },
      { uri: "docs://inner/plan", name: "plan" },
      { uri: "DOCS://inner/%70lan", name: "spelled" },
    ],
    resourceTemplates: [
      { uriTemplate: "docs://{+path}", name: "docs" },
      { uriTemplate: "DOCS://{+path}", name: "shouted" },
    ],
  });
  gateway = await startGatewayUnderTest({
    upstreams: { crm: upstream.url },
    servers: {},
    config: {
      servers: {
        whole: { upstreams: { crm: {} } },
        hiding: { upstreams: { crm: { hide } } },
        including: { upstreams: { crm: { include: { resources: ["docs://open/**"] } } } },
        presenting: { upstreams: { crm: {} }, presentations: [{ id: "p", who: everybody, hide: { crm: hide } }] },
        prefixing: { upstreams: { crm: { uriPrefix: "crm+", hide } } },
      },
    },
  });
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

async function reading(server: string, uri: string): Promise<readonly unknown[]> {
  const before = used(upstream).length;
  const caller: Caller = { gateway, server };
  await modernCall(caller, "resources/read", { uri });
  await legacyCall(await openSession(caller), "resources/read", { uri });
  return used(upstream)
    .slice(before)
    .map(([, name]) => name);
}

/** As whoever decodes them and resolves their dot segments reads them, or may. */
const hidden = [
  "docs://inner/plan",
  "docs://inner/unlisted",
  "DOCS://inner/plan",
  "docs://inner/%70lan",
  "docs://inner//plan",
  "docs://inner%2fplan",
  "docs://inner/plan?x",
  "docs://inner/%ff",
];

describe("what a server leaves out of an upstream", () => {
  it.each(["hiding", "including", "presenting"])("is read through no template: %s", async (server) => {
    for (const uri of hidden) expect([uri, await reading(server, uri)]).toEqual([uri, []]);
    expect(await reading(server, "docs://open/b")).toEqual(["docs://open/b", "docs://open/b"]);
  });

  it("is left out by the upstream's own URI, whatever stands before it here", async () => {
    for (const uri of hidden) expect([uri, await reading("prefixing", `crm+${uri}`)]).toEqual([uri, []]);
    expect(await reading("prefixing", "crm+docs://open/b")).toEqual(["docs://open/b", "docs://open/b"]);
  });

  it("is answered like what does not exist", async () => {
    const answers = await Promise.all(
      ["docs://inner/plan", "other://x"].map(async (uri) => {
        const { status, text } = await modernCall({ gateway, server: "hiding" }, "resources/read", { uri });
        return [status, text.replaceAll(uri, "*").replaceAll(/"ref":"[^"]*"/g, "")];
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
  });

  it("is read where nothing leaves it out", async () => {
    for (const uri of hidden.slice(0, 3)) expect(await reading("whole", uri)).toEqual([uri, uri]);
  });

  it.each([
    ["whole", 3],
    ["hiding", 1],
    ["including", 1],
    ["presenting", 1],
    ["prefixing", 1],
  ])("is listed under no other spelling (%s)", async (server, count) => {
    const { json } = await modernCall({ gateway, server }, "resources/list");
    expect(json["result"]).toHaveProperty("resources.length", count);
  });
});
