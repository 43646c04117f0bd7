import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pdf, startFilesBench } from "../edge/files-bench.ts";
import type { FilesBench } from "../edge/files-bench.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { modernCall, refusalIn } from "./wire-client.ts";

const anyone = { anyone: true };
const allow = { id: "all", effect: "allow", who: anyone, what: { anything: true } };

describe("a read that a template carries", () => {
  let upstream: ScriptedUpstream;
  let gateway: GatewayUnderTest;
  const lists: Readonly<Record<string, Loose>> = {
    "resources/list": { resources: [] },
    "resources/templates/list": { resourceTemplates: [{ name: "report", uriTemplate: "x://{area}/{id}" }] },
    "resources/read": { contents: [{ uri: "x://a/1", text: "x" }] },
  };

  beforeAll(async () => {
    upstream = await startScriptedUpstream({ capabilities: { resources: {} } });
    upstream.script(({ rpc }, wire) => {
      const result = lists[String(rpc["method"])];
      if (result === undefined) return false;
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", ...result } });
      return true;
    });
    const few = (id: string, what: Loose, quota: string): Loose => ({
      id,
      effect: "constrain",
      who: anyone,
      what: { upstream: "up", ...what },
      limits: { quota, per: "item" },
    });
    const rules = [
      allow,
      few("of-the-template", { template: "x://{area}/{id}" }, "3/day"),
      few("of-the-uri", { resource: "x://secret/**" }, "1/day"),
      few("of-both", {}, "100/day"),
    ];
    gateway = await startGatewayUnderTest({ upstreams: { up: upstream.url }, servers: { s: { up: "" } }, rules });
  });

  afterAll(async () => {
    await gateway.remove();
    await upstream.close();
  });

  it("is bound by what is laid upon the template and by what is laid upon the URI, each counted once", async () => {
    const read = (uri: string): Promise<Received> => modernCall({ gateway, server: "s" }, "resources/read", { uri });
    const told = [];
    for (const uri of ["x://secret/1", "x://secret/2", "x://a/1", "x://a/2", "x://a/3"]) {
      const { code } = refusalIn(await read(uri));
      told.push(code);
    }
    expect(told).toEqual(["", "QUOTA_EXHAUSTED", "", "", "QUOTA_EXHAUSTED"]);
    await expect.poll(() => gateway.audit().at(-1)?.type).toBe("refused");
    const secret = gateway.audit().find(({ exposedName }) => exposedName === "x://secret/1");
    expect(secret?.constrained).toEqual(["of-both", "of-the-template", "of-the-uri"]);
  });
});

describe("a file", () => {
  let bench: FilesBench;
  const what = { upstream: "crm", resource: "http://127.0.0.1:*/reports/*" };

  beforeAll(async () => {
    bench = await startFilesBench({
      files: {
        routes: ["/reports/*", "/free/*", "/drafts/a*", "/drafts/b*"],
        types: ["application/pdf"],
        bytesMax: 10_000,
      },
      rules: [
        allow,
        {
          id: "few",
          effect: "constrain",
          who: anyone,
          what,
          limits: { quota: "2/day", per: "principal" },
          message: "Few.",
        },
        {
          id: "once",
          effect: "constrain",
          who: anyone,
          what: { upstream: "crm", resource: "http://127.0.0.1:*/drafts/*" },
          limits: { quota: "1/day", per: ["principal", "item"] },
        },
        { id: "small", effect: "constrain", who: anyone, what, resultBytesMax: pdf.length },
      ],
    });
  });

  afterAll(() => bench.close());

  it("is bound by the constrains of the resource that it is read as", async () => {
    bench.answer(({ path }, wire) => {
      wire.respond(200, "application/pdf", path.endsWith("long.pdf") ? `${pdf}!` : pdf);
    });
    const get = async (path: string): Promise<[number, string]> => {
      const answer = await bench.get(`/files/support/crm${path}`);
      return [answer.status, refusalIn(answer).code];
    };
    expect(await get("/reports/1.pdf")).toEqual([200, ""]);
    expect(await get("/reports/long.pdf")).toEqual([502, "UPSTREAM_ANSWER_TOO_LARGE"]);
    expect(await get("/reports/3.pdf")).toEqual([429, "QUOTA_EXHAUSTED"]);
    expect(await get("/free/long.pdf")).toEqual([200, ""]);
  });

  it("is counted by its route, however it is spelled", async () => {
    bench.answer((_request, wire) => {
      wire.respond(200, "application/pdf", pdf);
    });
    const told: number[] = [];
    for (const path of ["a.pdf", "a.pdf", "a.pdf?1", "a%2D.pdf", "a2.pdf", "b.pdf"])
      told.push((await bench.get(`/files/support/crm/drafts/${path}`)).status);
    expect(told).toEqual([200, 429, 429, 429, 429, 200]);
  });
});
