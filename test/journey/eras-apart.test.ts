import { afterAll, beforeAll, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let issuer: IssuerUnderTest;
let upstream: ListeningUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  [issuer, upstream] = [await startIssuer(), await startListeningUpstream("modern")];
  upstream.items.tool.push(tool("new"), tool("old"));
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    rules: [
      { id: "all", effect: "allow", who: { anyone: true }, what: { upstream: "alpha", tool: "*" } },
      ...[
        { tool: "new", when: 'request.era == "legacy"' },
        { tool: "old", when: 'request.revision == "2026-07-28"' },
      ].map(({ tool: name, when }) => ({
        ...{ id: `not-${name}`, effect: "deny", who: { anyone: true }, what: { upstream: "alpha", tool: name } },
        when,
      })),
    ],
  });
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
  await issuer.close();
});

it("what policy hides from one revision is hidden from it alone, whoever listed first", async () => {
  const modern: Caller = { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha")) };
  const legacy = await openSession(modern);
  const namesOf = ({ json }: { json: Loose }): unknown[] =>
    ((json["result"] as Loose)["tools"] as Loose[]).map(({ name }) => name);
  for (let time = 0; time < 2; time += 1) {
    expect(namesOf(await modernCall(modern, "tools/list"))).toEqual(["echo", "new"]);
    expect(namesOf(await legacyCall(legacy, "tools/list"))).toEqual(["echo", "old"]);
    const refused = [
      refusalIn(await modernCall(modern, "tools/call", { name: "old", arguments: {} })),
      refusalIn(await legacyCall(legacy, "tools/call", { name: "new", arguments: {} })),
    ];
    expect(refused.map(({ code }) => code)).toEqual(["ITEM_UNKNOWN", "ITEM_UNKNOWN"]);
  }
});
