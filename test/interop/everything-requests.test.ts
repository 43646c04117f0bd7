import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alice, startInterop } from "./interop-gateway.ts";
import type { InteropGateway } from "./interop-gateway.ts";
import { createPerson } from "../../deploy/quickstart/person.ts";
import { rejection } from "./rejection.ts";
import { kinds } from "../../deploy/quickstart/clients.ts";
import { connect } from "./sdk-clients.ts";
import type { SdkClient, Loose } from "../../deploy/quickstart/clients.ts";

let interop: InteropGateway;

beforeAll(async () => {
  interop = await startInterop();
});

afterAll(async () => {
  await interop.stop();
});

/** Beside lists and calls, what a client may ask of server-everything through the gateway. */
describe.each(kinds)("SDK client %s in front of server-everything", (kind) => {
  const isModern = kind === "v2 auto" || kind === "v2 pinned";
  let client: SdkClient;

  beforeAll(async () => {
    client = await connect(kind, interop.url("everything"), createPerson(alice));
  });

  afterAll(() => client.close());

  it("is offered completion, and gets it", async () => {
    const answer = await client.complete("completable-prompt", { name: "department", value: "E" });
    expect(answer).toMatchObject({ completion: { values: ["Engineering"] } });
  });

  if (!isModern)
    it("subscribes to a resource that it sees, and to no other, and sets a log level", async () => {
      expect(await client.subscribe("demo://resource/static/document/features.md")).toEqual({});
      expect(await rejection(client.subscribe("demo://nowhere"))).toMatchObject({ data: { uri: "demo://nowhere" } });
      expect(await client.setLoggingLevel("debug")).toEqual({});
    });

  it("gets the progress of a call that it wanted, and the result", async () => {
    const seen: unknown[] = [];
    const options = { onprogress: (progress: unknown) => void seen.push(progress) };
    const result = await client.callTool("trigger-long-running-operation", { duration: 0.2, steps: 2 }, options);
    expect(result).toMatchObject({ content: [{ text: expect.stringMatching(/^Long running/) as string }] });
    expect(seen).toEqual([
      { progress: 1, total: 2 },
      { progress: 2, total: 2 },
    ]);
  });

  it("goes on after a call that it gave up", async () => {
    const slow = client.callTool("trigger-long-running-operation", { duration: 3, steps: 1 }, { timeout: 100 });
    expect((await rejection(slow)).message).toMatch(/Request timed out/);
    expect(await client.callTool("echo", { message: "still here" })).toMatchObject({
      content: [{ text: "Echo: still here" }],
    });
  });

  it("can follow a link of a result that a template covers", async () => {
    const { content } = await client.callTool("get-resource-links", { count: 2 });
    const links = (content as Loose[]).filter(({ type }) => type === "resource_link");
    expect(links.map(({ uri }) => uri)).toEqual(["demo://resource/dynamic/blob/1", "demo://resource/dynamic/text/2"]);
    for (const { uri } of links) {
      const read = await client.readResource(String(uri));
      expect(read["contents"]).toMatchObject([{ uri }]);
    }
  });

  it("can follow a link to what only its own session has, once a result brought it", async () => {
    const uri = "demo://resource/session/note.gz";
    expect(await rejection(client.readResource(uri))).toMatchObject({ data: { uri } });
    const args = { name: "note.gz", data: "data:text/plain,hello", outputType: "resourceLink" };
    const { content } = await client.callTool("gzip-file-as-resource", args);
    const [link] = content as Loose[];
    expect(link).toMatchObject({ type: "resource_link", uri });
    expect((await client.readResource(uri))["contents"]).toMatchObject([{ uri, mimeType: "application/gzip" }]);
  });

  if (isModern)
    it("refuses by itself what the modern revision has not", async () => {
      const unsupported = { code: "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION" };
      expect(await rejection(client.ping())).toMatchObject(unsupported);
      expect(await rejection(client.setLoggingLevel("debug"))).toMatchObject(unsupported);
    });
});
