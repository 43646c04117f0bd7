import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alice, startInterop } from "./interop-gateway.ts";
import type { InteropGateway } from "./interop-gateway.ts";
import { createPerson } from "../../deploy/quickstart/person.ts";
import { rejection } from "./rejection.ts";
import { kinds } from "../../deploy/quickstart/clients.ts";
import { connect } from "./sdk-clients.ts";
import type { SdkClient } from "../../deploy/quickstart/clients.ts";

let interop: InteropGateway;

beforeAll(async () => {
  interop = await startInterop();
});

afterAll(async () => {
  await interop.stop();
});

/** What server-everything has and the gateway does not carry for such a client: refused or not shown, never half done. */
describe.each(kinds)("SDK client %s in front of server-everything", (kind) => {
  let client: SdkClient;

  beforeAll(async () => {
    client = await connect(kind, interop.url("everything"), createPerson(alice));
  });

  afterAll(() => client.close());

  it("cannot call a tool that runs as a task only", async () => {
    expect((await client.listTools()).map(({ name }) => name)).toContain("simulate-research-query");
    const call = client.callTool("simulate-research-query", { topic: "gates", ambiguous: false });
    // v1 reads `execution` in the definition and does not ask.
    if (kind === "v1") expect(await rejection(call)).toMatchObject({ code: -32600 });
    else expect(await rejection(call)).toMatchObject({ code: -32601, data: { refusal: "TASK_REQUIRED" } });
  });

  it("is not shown the tools that server-everything keeps for clients that can be asked", async () => {
    const names = (await client.listTools()).map(({ name }) => name);
    expect(names).not.toContain("get-roots-list");
    expect(names).not.toContain("trigger-elicitation-request");
    expect(names).not.toContain("trigger-sampling-request");
  });
});
