import { askPerson, embedded, image, open, picture, text } from "./fixture-content.ts";
import { asValues, type FixturePrompt, type FixtureTool, type Values } from "./fixture-item.ts";
import { fixtureTools, passingTool } from "./fixture-tools.ts";

/** What a fixture server offers. Two of its items come and go, so that lists can change. */
export interface FixtureItems {
  tools(): readonly FixtureTool[];
  prompts(): readonly FixturePrompt[];
  readonly resources: readonly Values[];
  readonly templates: readonly Values[];
  /** The contents at a URI; undefined where there is nothing. */
  read(uri: string): Values | undefined;
  /** Adds the passing item of this kind, or takes it away. */
  change(kind: "tools" | "prompts"): void;
}

export function createFixtureItems(): FixtureItems {
  const present = new Set<"tools" | "prompts">();
  return {
    tools: () => (present.has("tools") ? [...fixtureTools, passingTool] : fixtureTools),
    prompts: () => (present.has("prompts") ? [...prompts, passingPrompt] : prompts),
    resources: resources.map(({ uri, name, mimeType }) => ({ uri, name, mimeType, description: `Fixture ${name}` })),
    templates: [
      {
        uriTemplate: "test://template/{id}/data",
        name: "template-data",
        description: "Data of one id",
        mimeType: "application/json",
      },
    ],
    read,
    change: (kind) => {
      if (!present.delete(kind)) present.add(kind);
    },
  };
}

const resources = [
  {
    uri: "test://static-text",
    name: "static-text",
    mimeType: "text/plain",
    text: "This is the content of the static text resource.",
  },
  { uri: "test://static-binary", name: "static-binary", mimeType: "image/png", blob: picture },
  {
    uri: "test://watched-resource",
    name: "watched-resource",
    mimeType: "text/plain",
    text: "Watched resource content",
  },
  {
    uri: "test://stateless-static-text",
    name: "stateless-static-text",
    mimeType: "text/plain",
    text: "The same for everybody.",
  },
] as const;

function read(uri: string): Values | undefined {
  const found = resources.find((resource) => resource.uri === uri);
  if (found !== undefined) {
    const { uri: own, mimeType } = found;
    return { uri: own, mimeType, ...("blob" in found ? { blob: found.blob } : { text: found.text }) };
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return undefined;
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { uri, mimeType: "application/json", text: data };
}

const user = (content: Values): Values => ({ role: "user", content });

const prompts: readonly FixturePrompt[] = [
  {
    definition: { name: "test_simple_prompt", description: "One message." },
    messages: () => [user(text("This is a simple prompt for testing."))],
  },
  {
    definition: {
      name: "test_prompt_with_arguments",
      description: "Says its two arguments.",
      arguments: [
        { name: "arg1", description: "The first", required: true },
        { name: "arg2", description: "The second", required: true },
      ],
    },
    messages: (args) => [
      user(text(`Prompt with arguments: arg1='${String(args["arg1"])}', arg2='${String(args["arg2"])}'`)),
    ],
  },
  {
    definition: {
      name: "test_prompt_with_embedded_resource",
      description: "Embeds the resource it is told.",
      arguments: [{ name: "resourceUri", description: "Which resource", required: true }],
    },
    messages: (args) => [
      user(embedded(String(args["resourceUri"]), "text/plain", "Embedded resource content for testing.")),
      user(text("Please process the embedded resource above.")),
    ],
  },
  {
    definition: { name: "test_prompt_with_image", description: "Shows a picture." },
    messages: () => [user(image), user(text("Please analyze the image above."))],
  },
  {
    definition: { name: "test_input_required_result_prompt", description: "Asks the person for its context." },
    asks: (_args, answers) => {
      const properties = { context: { type: "string" } };
      return open({ user_context: askPerson("What context should the prompt use?", properties, ["context"]) }, answers);
    },
    messages: (_args, answers) => [
      user(text(`Context: ${String(asValues(answers["user_context"]?.["content"])["context"])}`)),
    ],
  },
];

const passingPrompt: FixturePrompt = {
  definition: { name: "test_passing_prompt", description: "Is here every other time." },
  messages: () => [user(text("Here."))],
};

/** Suggestions for any argument: the known words that begin with what was typed. */
export function complete(typed: string): Values {
  const values = ["paris", "park", "party", "test", "testing"].filter((word) => word.startsWith(typed));
  return { completion: { values, total: values.length, hasMore: false } };
}
