import type { Answer, SuiteClient } from "./client-of-era.ts";
import { asValues, type Values } from "./fixture-item.ts";
import { modernRequest } from "./modern-request.ts";
import type { Way } from "./suite-client.ts";

/** What a scenario is driven with. */
export interface Drive {
  /** What the suite hands the command besides the URL. */
  readonly context: Values;
  readonly way: Way;
  /** The server that the suite plays. */
  readonly serverUrl: string;
  /** Where the client connects: the gateway, or that same server. */
  readonly url: string;
  connect(answer?: Answer): Promise<SuiteClient>;
}

type Scene = (client: SuiteClient, drive: Drive) => Promise<void>;

/** Does what a scenario waits for. Throws where the answer is not the one that its server gives. */
export async function driveScenario(scenario: string, drive: Drive): Promise<void> {
  const scene = scenes[scenario];
  if (scene === undefined) throw new Error(`Nobody knows how to drive ${scenario}`);
  await scene(drive);
}

const scenes: Readonly<Record<string, (drive: Drive) => Promise<void>>> = {
  initialize: asked(listTools),
  "request-metadata": asked(() => Promise.resolve()),
  tools_call: asked(addNumbers),
  "sse-retry": asked(callWhereTheStreamCloses),
  "elicitation-sep1034-client-defaults": asked(answerWithDefaults, () => Promise.resolve({})),
  "sep-2322-client-request-state": answerInRounds,
  "http-standard-headers": asked(askForOneOfEach),
  "http-custom-headers": asked(callAsTheContextSays),
  "http-invalid-tool-headers": asked(callEveryTool),
  "json-schema-ref-no-deref": asked(lookUpUser),
  "json-schema-2020-12-preservation": asked(echoSchema),
};

function asked(scene: Scene, answer?: Answer): (drive: Drive) => Promise<void> {
  return async (drive) => {
    const client = await drive.connect(answer);
    try {
      await scene(client, drive);
    } finally {
      await client.close();
    }
  };
}

async function listTools(client: SuiteClient): Promise<void> {
  await client.listTools();
}

async function addNumbers(client: SuiteClient): Promise<void> {
  await client.listTools();
  expectText(await client.callTool("add_numbers", { a: 5, b: 3 }), "The sum of 5 and 3 is 8");
}

async function callWhereTheStreamCloses(client: SuiteClient): Promise<void> {
  await client.listTools();
  expectText(await client.callTool("test_reconnection", {}), "Reconnection test completed successfully");
}

async function answerWithDefaults(client: SuiteClient): Promise<void> {
  await client.listTools();
  expectText(await client.callTool("test_client_elicitation_defaults", {}), "Elicitation completed");
}

/** The call that has nothing to do with the question is made while the question is open. */
async function answerInRounds(drive: Drive): Promise<void> {
  const client: SuiteClient = await drive.connect(async () => {
    expectText(await client.callTool("test_mrtr_unrelated", {}), "unrelated-ok");
    return { confirmed: true };
  });
  try {
    await client.listTools();
    expectText(await client.callTool("test_mrtr_echo_state", {}), "echo-state-ok");
    expectText(await client.callTool("test_mrtr_no_state", {}), "no-state-ok");
    expectText(await client.callTool("test_mrtr_no_result_type", {}), "no-result-type-test-ok");
  } finally {
    await client.close();
  }
}

async function askForOneOfEach(client: SuiteClient): Promise<void> {
  for (const tool of await client.listTools()) {
    expectText(await client.callTool(String(tool["name"]), {}), "Headers test completed");
  }
  for (const resource of await client.listResources()) await client.readResource(String(resource["uri"]));
  for (const prompt of await client.listPrompts()) await client.getPrompt(String(prompt["name"]));
}

/** One of the calls has null for a boolean, which only a gateway lets through that does not hold clients to schemas. */
async function callAsTheContextSays(client: SuiteClient, { context }: Drive): Promise<void> {
  await client.listTools();
  for (const call of context["toolCalls"] as readonly Values[]) {
    const result = await client.callTool(String(call["name"]), asValues(call["arguments"]));
    expectText(result, "Custom headers test completed");
  }
}

/**
 * Calls what is listed, and then, as a client that heeds no list, every other tool that the server has: only
 * the gateway is there to keep those from being called. A client alone keeps to what it finds valid itself.
 */
async function callEveryTool(client: SuiteClient, { way, serverUrl, url }: Drive): Promise<void> {
  const listed = (await client.listTools()).map((tool) => String(tool["name"]));
  for (const name of listed) expectText(await client.callTool(name, { region: "us-west1" }), "Tool call received");
  if (way === "alone") return;
  const { tools } = (await modernRequest(serverUrl, "tools/list", {})).result;
  for (const { name, inputSchema } of tools as readonly Values[]) {
    if (listed.includes(String(name))) continue;
    const params = { name, arguments: argumentsFor(asValues(inputSchema)) };
    const { result } = await modernRequest(url, "tools/call", params);
    if (result["isError"] !== true) throw new Error(`Nobody refuses a call of ${String(name)}`);
  }
}

const sampleOf: Values = { string: "us-west1", object: {}, array: [], null: null, number: 1 };

/** Arguments that the schema finds valid, so that it is for the header's sake that a call is refused. */
function argumentsFor(schema: Values): Values {
  const properties = Object.entries(asValues(schema["properties"]));
  return Object.fromEntries(properties.map(([key, value]) => [key, sampleOf[String(asValues(value)["type"])]]));
}

/** The server answers no call. It is made so that whoever checks the arguments has to read the schema. */
async function lookUpUser(client: SuiteClient): Promise<void> {
  await client.listTools();
  await client.callTool("lookup_user", { id: "ada", profile: {} }).catch(() => undefined);
}

async function echoSchema(client: SuiteClient): Promise<void> {
  const tools = await client.listTools();
  const schema = tools.find(({ name }) => name === "json_schema_2020_12_tool")?.["inputSchema"];
  expectText(await client.callTool("json_schema_echo", { schema }), "echoed");
}

function expectText(result: unknown, text: string): void {
  const said = JSON.stringify(asValues(result)["content"]) as string | undefined;
  if (said?.includes(text) !== true) throw new Error(`Expected ${JSON.stringify(text)}: ${JSON.stringify(result)}`);
}
