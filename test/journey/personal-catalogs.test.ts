import { decodeJwt } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { modernCall, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const closing: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});

interface Scene {
  readonly gateway: GatewayUnderTest;
  readonly issuer: IssuerUnderTest;
  readonly upstream: ListeningUpstream;
  /** Tools that the upstream lists, by who asks; `gateway` for the gateway's own account. */
  readonly lists: Map<string, readonly string[]>;
  /** Who asked for a list, in order. */
  readonly asked: string[];
}

/** An upstream that shows everybody their own tools, behind a gateway that tells it who asks. */
async function start(more: Partial<GatewayOptions> = {}): Promise<Scene> {
  const lists = new Map<string, readonly string[]>();
  const asked: string[] = [];
  const first = (request: ReceivedRequest, wire: Wire): boolean => {
    if (request.rpc["method"] !== "tools/list") return false;
    const who = askerOf(request);
    asked.push(who);
    const tools = (lists.get(who) ?? []).map((name) => tool(name));
    wire.json(200, { jsonrpc: "2.0", id: request.rpc["id"], result: { tools, ...modernResult } });
    return true;
  };
  const [issuer, upstream] = [await startIssuer(), await startListeningUpstream("modern", { first })];
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: { url: upstream.url, credential: { type: "assertion" }, catalogFrom: "user" } },
    servers: { alpha: { alpha: "" } },
    ...more,
  });
  closing.push(issuer, upstream, { close: () => gateway.remove() });
  return { gateway, issuer, upstream, lists, asked };
}

const modernResult = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

function askerOf(request: ReceivedRequest): string {
  const { sub, act } = decodeJwt((request.header("authorization") ?? "").replace(/^Bearer /, ""));
  return act === undefined ? "gateway" : String(sub);
}

async function callerOf({ gateway, issuer }: Scene, sub: string): Promise<Caller> {
  return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha"), { sub }) };
}

async function toolsOf(caller: Caller): Promise<readonly string[]> {
  const { json } = await modernCall(caller, "tools/list");
  return ((json["result"] as { tools: Loose[] } | undefined)?.tools ?? []).map(({ name }) => String(name));
}

describe("an upstream whose lists are read for each person", () => {
  it("shows each what it lists to them, and nobody what it lists to others", async () => {
    const scene = await start();
    scene.lists.set("ada", ["mine", "shared"]).set("bob", ["shared"]);
    const [ada, bob] = [await callerOf(scene, "ada"), await callerOf(scene, "bob")];
    expect([await toolsOf(ada), await toolsOf(bob)]).toEqual([["mine", "shared"], ["shared"]]);
    const call = await modernCall(bob, "tools/call", { name: "mine", arguments: {} });
    const unknown = await modernCall(bob, "tools/call", { name: "none", arguments: {} });
    expect([refusalIn(call).code, refusalIn(unknown).code]).toEqual(["ITEM_UNKNOWN", "ITEM_UNKNOWN"]);
    expect((await modernCall(ada, "tools/call", { name: "mine", arguments: {} })).status).toBe(200);
  });

  it("is never read on the gateway's own account, and once for each", async () => {
    const scene = await start();
    scene.lists.set("ada", ["a"]).set("bob", ["b"]);
    const [ada, bob] = [await callerOf(scene, "ada"), await callerOf(scene, "bob")];
    for (const caller of [ada, bob, ada, bob]) await toolsOf(caller);
    expect(scene.asked).toEqual(["ada", "bob"]);
  });

  it("is hidden by policy like any other", async () => {
    const who = { groups: { any: ["corp:everyone"] } };
    const scene = await start({
      rules: [{ id: "one", effect: "allow", who, what: { upstream: "alpha", tool: "shared" } }],
    });
    scene.lists.set("ada", ["mine", "shared"]);
    expect(await toolsOf(await callerOf(scene, "ada"))).toEqual(["shared"]);
  });
});
