export type Values = Readonly<Record<string, unknown>>;

/** What a server asks of its client before it can answer, by a key of its own choosing. */
export type Questions = Readonly<Record<string, { readonly method: string; readonly params: Values }>>;

/** What the client answered so far, by the same keys. */
export type Answers = Readonly<Record<string, Values>>;

/** What a tool can do while it runs. How that reaches the client is the era's affair. */
export interface Scene {
  progress(done: number, total: number): void;
  log(message: string): void;
  /** Lets the other side see that messages come one after the other. */
  pause(): Promise<void>;
  /** Adds or takes away one item of this kind, and tells who listens. */
  change(kind: "tools" | "prompts"): void;
}

export interface FixtureTool {
  readonly definition: Values & { readonly name: string };
  /** What is still to be asked, the answers so far given. Absent or empty: nothing. */
  readonly asks?: (args: Values, answers: Answers) => Questions;
  /** Leaves out what the client did not declare, where others would refuse the call. */
  readonly asksWhatItMay?: true;
  /** Hands the client a state to bring back, and believes no other. */
  readonly keepsState?: true;
  /** The server ends the stream of this call early, and the client comes back for the rest. */
  readonly disconnects?: true;
  readonly run: (args: Values, answers: Answers, scene: Scene) => Values | Promise<Values>;
}

export interface FixturePrompt {
  readonly definition: Values & { readonly name: string };
  readonly asks?: (args: Values, answers: Answers) => Questions;
  readonly messages: (args: Values, answers: Answers) => readonly Values[];
}

/** Reads a value as an object; whatever else it is counts as one without keys. */
export function asValues(value: unknown): Values {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : {};
}

/** The client capability that a question needs. */
export function capabilityFor(method: string): "elicitation" | "sampling" | "roots" {
  if (method === "elicitation/create") return "elicitation";
  return method === "sampling/createMessage" ? "sampling" : "roots";
}
