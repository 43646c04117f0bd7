import { describe, expect, it } from "vitest";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import { modernCall } from "./wire-client.ts";

const tool = (name: string): Record<string, unknown> => ({ name, inputSchema: { type: "object" } });

describe("a start at which two upstreams offer one name", () => {
  it("is refused, naming the item, both upstreams and what helps", async () => {
    const [one, two] = [await startScriptedUpstream(), await startScriptedUpstream()];
    const start = startGatewayUnderTest({
      upstreams: { one: one.url, two: two.url },
      servers: { s: { one: "", two: "" } },
    });
    const refused = await start.then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(refused).toMatchObject({ name: "StartRefused" });
    const { lines } = refused as { lines: string[] };
    expect(lines).toHaveLength(2);
    for (const upstream of ["one", "two"])
      expect(
        lines.some((line) => line.includes("servers.s: tool echo") && line.includes(`upstream ${upstream} `)),
      ).toBe(true);
    expect(lines.every((line) => line.includes("prefix"))).toBe(true);
    await one.close();
    await two.close();
  });

  it("goes well with a prefix, and when one upstream alone lists an item twice, which is then withheld", async () => {
    const one = await startScriptedUpstream();
    const two = await startScriptedUpstream({ tools: [tool("echo"), tool("twice"), tool("twice")] });
    const gateway = await startGatewayUnderTest({
      upstreams: { one: one.url, two: two.url },
      servers: { s: { one: "", two: "two_" } },
    });
    const { result } = (await modernCall({ gateway, server: "s" }, "tools/list")).json as {
      result: { tools: { name: string }[] };
    };
    expect(result.tools.map(({ name }) => name)).toEqual(["echo", "two_echo"]);
    await gateway.remove();
    await one.close();
    await two.close();
  });
});
