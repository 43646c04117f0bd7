import {
  askModel,
  askPerson,
  askRoots,
  audio,
  embedded,
  formWithChoices,
  formWithDefaults,
  image,
  noArguments,
  open,
  says,
  schemaOfEverything,
  text,
} from "./fixture-content.ts";
import { asValues, type Answers, type FixtureTool, type Scene, type Values } from "./fixture-item.ts";

/** A tool that comes and goes with `test_trigger_tool_change`. */
export const passingTool: FixtureTool = plain("test_passing_tool", "Is here every other time.", () => says("Here."));

/** The tools that the conformance scenarios call by name. */
export const fixtureTools: readonly FixtureTool[] = [
  plain("test_simple_text", "Returns one text.", () => says("This is a simple text response for testing.")),
  plain("test_image_content", "Returns a picture.", () => ({ content: [image] })),
  plain("test_audio_content", "Returns a sound.", () => ({ content: [audio] })),
  plain("test_embedded_resource", "Returns a resource within the result.", () => ({
    content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  })),
  plain("test_multiple_content_types", "Returns a text, a picture and a resource.", () => ({
    content: [
      text("Multiple content types test:"),
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  })),
  plain("test_error_handling", "Always fails.", () => ({
    ...says("This tool intentionally returns an error for testing"),
    isError: true,
  })),
  plain("test_tool_with_logging", "Logs three times while it runs.", logThrice),
  plain("test_logging_tool", "Logs to those who ask for it.", logThrice),
  plain("test_tool_with_progress", "Reports its progress three times.", async (_args, _answers, scene) => {
    scene.progress(0, 100);
    await scene.pause();
    scene.progress(50, 100);
    await scene.pause();
    scene.progress(100, 100);
    return says("Done after three reports.");
  }),
  {
    ...plain("test_reconnection", "Loses its stream before it answers.", () => says("Found again.")),
    disconnects: true,
  },
  plain("test_trigger_tool_change", "Changes the list of tools.", (_args, _answers, scene) => change(scene, "tools")),
  plain("test_trigger_prompt_change", "Changes the list of prompts.", (_args, _answers, scene) =>
    change(scene, "prompts"),
  ),
  {
    definition: {
      name: "json_schema_2020_12_tool",
      description: "Has a schema that uses the whole of JSON Schema 2020-12.",
      inputSchema: schemaOfEverything,
    },
    run: () => says("Accepted."),
  },
  {
    definition: {
      name: "test_header_parameter",
      description: "Has an argument that travels in a header too.",
      inputSchema: {
        type: "object",
        properties: { region: { type: "string", description: "Where", "x-mcp-header": "Region" } },
      },
    },
    run: (args) => says(`Region: ${JSON.stringify(args["region"] ?? null)}`),
  },
  ...askingTools(),
  ...retryingTools(),
];

/** Tools that ask one question, as servers did when they could still send requests of their own. */
function askingTools(): readonly FixtureTool[] {
  const person = {
    username: { type: "string", description: "The name" },
    email: { type: "string", description: "The address" },
  };
  const completed = (answer: Values | undefined): Values =>
    says(
      `Elicitation completed: action=${String(answer?.["action"])}, content=${JSON.stringify(answer?.["content"] ?? {})}`,
    );
  return [
    {
      definition: {
        name: "test_sampling",
        description: "Asks the client's model.",
        inputSchema: oneText("prompt", "What to ask it"),
      },
      asks: (args, answers) => open({ sample: askModel(String(args["prompt"])) }, answers),
      run: (_args, answers) => says(`LLM response: ${spoken(answers["sample"])}`),
    },
    {
      definition: {
        name: "test_elicitation",
        description: "Asks the person at the client.",
        inputSchema: oneText("message", "What to ask them"),
      },
      asks: (args, answers) =>
        open({ form: askPerson(String(args["message"]), person, ["username", "email"]) }, answers),
      run: (_args, answers) => says(`User response: ${JSON.stringify(answers["form"])}`),
    },
    asking(
      "test_elicitation_sep1034_defaults",
      "Asks with a default for every type.",
      {
        form: askPerson("Please review and change what is wrong", formWithDefaults, []),
      },
      (answers) => completed(answers["form"]),
    ),
    asking(
      "test_elicitation_sep1330_enums",
      "Asks with every kind of choice.",
      {
        form: askPerson("Please choose", formWithChoices, []),
      },
      (answers) => completed(answers["form"]),
    ),
    asking(
      "test_missing_capability",
      "Asks the client's model, which the client need not have.",
      {
        sample: askModel("Say something"),
      },
      (answers) => says(spoken(answers["sample"])),
    ),
    asking(
      "test_streaming_elicitation",
      "Asks the person on a stream.",
      {
        form: askPerson("Go on?", { ok: { type: "boolean" } }, ["ok"]),
      },
      (answers) => completed(answers["form"]),
    ),
  ];
}

/** Tools for the exchange in which the client calls again with what it was asked for (SEP-2322). */
function retryingTools(): readonly FixtureTool[] {
  const name = askPerson("What is your name?", { name: { type: "string" } }, ["name"]);
  const confirm = askPerson("Please confirm", { ok: { type: "boolean" } }, ["ok"]);
  const prefix = "test_input_required_result";
  return [
    asking(`${prefix}_elicitation`, "Asks the person for a name.", { user_name: name }, (answers) =>
      says(`Hello, ${String(asValues(answers["user_name"]?.["content"])["name"])}!`),
    ),
    asking(
      `${prefix}_sampling`,
      "Asks the model a question.",
      { capital_question: askModel("What is the capital of France?") },
      (answers) => says(spoken(answers["capital_question"])),
    ),
    asking(`${prefix}_list_roots`, "Asks for the client's roots.", { client_roots: askRoots }, (answers) =>
      says(`Roots: ${JSON.stringify(answers["client_roots"]?.["roots"] ?? [])}`),
    ),
    {
      ...asking(`${prefix}_request_state`, "Gives a state away and wants it back.", { confirm }, () =>
        says("state-ok"),
      ),
      keepsState: true,
    },
    {
      ...asking(`${prefix}_tampered_state`, "Believes no state but its own.", { confirm }, () => says("state-ok")),
      keepsState: true,
    },
    {
      ...asking(
        `${prefix}_multiple_inputs`,
        "Asks three things at once.",
        { user_name: name, greeting: askModel("Generate a greeting"), client_roots: askRoots },
        (answers) => says(`${spoken(answers["greeting"])} ${JSON.stringify(answers["user_name"])}`),
      ),
      keepsState: true,
    },
    {
      ...plain(`${prefix}_multi_round`, "Asks one thing after the other.", (_args, answers) =>
        says(JSON.stringify(answers)),
      ),
      asks: (_args, answers) => {
        const step1 = askPerson("Step 1: What is your name?", { name: { type: "string" } }, ["name"]);
        const step2 = askPerson("Step 2: What is your favorite color?", { color: { type: "string" } }, ["color"]);
        return open(answers["step1"] === undefined ? { step1 } : { step1, step2 }, answers);
      },
      keepsState: true,
    },
    {
      ...asking(
        `${prefix}_capabilities`,
        "Asks only what the client can answer.",
        { form: name, sample: askModel("Say hello") },
        (answers) => says(JSON.stringify(answers)),
      ),
      asksWhatItMay: true,
    },
  ];
}

function plain(name: string, description: string, run: FixtureTool["run"]): FixtureTool {
  return { definition: { name, description, inputSchema: noArguments }, run };
}

function asking(
  name: string,
  description: string,
  questions: Readonly<Record<string, Values>>,
  answer: (answers: Answers) => Values,
): FixtureTool {
  return {
    ...plain(name, description, (_args, answers) => answer(answers)),
    asks: (_args, answers) => open(questions, answers),
  };
}

function oneText(name: string, description: string): Values {
  return { type: "object", properties: { [name]: { type: "string", description } }, required: [name] };
}

function spoken(answer: Values | undefined): string {
  return textOf(asValues(answer?.["content"])["text"]);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

async function logThrice(_args: Values, _answers: Answers, scene: Scene): Promise<Values> {
  scene.log("Tool execution started");
  await scene.pause();
  scene.log("Tool processing data");
  await scene.pause();
  scene.log("Tool execution completed");
  return says("Logged three times.");
}

function change(scene: Scene, kind: "tools" | "prompts"): Values {
  scene.change(kind);
  return says(`The list of ${kind} changed.`);
}
