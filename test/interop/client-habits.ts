import type { Discover } from "./scripted-clients.ts";
import { challengeFirst, getProbe, headProbe, strictReader } from "./scripted-clients.ts";

/** What a client of one family does where the specification leaves it a choice, or where it strays from it. */
export interface Habits {
  readonly name: string;
  readonly discover: Discover;
  /** Which scopes it asks for: those of the challenge, or all that the authorization server lists. */
  readonly scopes: "challenge" | "server";
  readonly accept: string;
  /** `probe`: `server/discover` first, and `initialize` when that leads nowhere. */
  readonly opens: "probe" | "initialize";
  /** Whether requests of a session carry `MCP-Protocol-Version`. */
  readonly sendsRevision: boolean;
  /** Statuses that it takes for a lost session, which it replaces by a new one before it asks again. */
  readonly reopensOn: readonly number[];
  /** After any 403 it sends the same request once more. */
  readonly resendsAfter403: boolean;
  /** Whenever the person signs in again, it registers as another client before. */
  readonly registersAnew: boolean;
  /** A 403 that names scopes sends the person to sign in again; then it asks once more. */
  readonly stepsUp: boolean;
  /** A status other than 2xx without a JSON-RPC body ends the connection for good. */
  readonly diesWithoutMessage: boolean;
  /** A 404 or 405 on the very first POST makes it try the transport of 2024-11-05. */
  readonly fallsBackToSse: boolean;
}

const usual = "application/json, text/event-stream";
const reversed = "text/event-stream, application/json";

const common: Omit<Habits, "name" | "discover"> = {
  scopes: "challenge",
  accept: usual,
  opens: "initialize",
  sendsRevision: true,
  reopensOn: [],
  resendsAfter403: false,
  registersAnew: false,
  stepsUp: false,
  diesWithoutMessage: false,
  fallsBackToSse: false,
};

/** Read from the sources of the Python SDK v2. */
const python: Habits = {
  ...common,
  name: "Python-style",
  discover: challengeFirst,
  opens: "probe",
  resendsAfter403: true,
  stepsUp: true,
};

/** Read from the sources of the Go SDK 1.7. */
const go: Habits = {
  ...common,
  name: "Go-style",
  discover: strictReader,
  opens: "probe",
  resendsAfter403: true,
  diesWithoutMessage: true,
};

/** Read from the sources of the Rust SDK 3.1, which Codex uses: any 404 is a lost session to it. */
const rust: Habits = { ...common, name: "Rust-style", discover: getProbe, accept: reversed, reopensOn: [404] };

/** Read from the sources of Gemini CLI. */
const gemini: Habits = {
  ...common,
  name: "Gemini-style",
  discover: headProbe,
  scopes: "server",
  fallsBackToSse: true,
};

/** Read from the sources of VS Code. */
const vsCode: Habits = {
  ...common,
  name: "VS Code-style",
  discover: challengeFirst,
  accept: reversed,
  sendsRevision: false,
  reopensOn: [400, 404],
  registersAnew: true,
  stepsUp: true,
  fallsBackToSse: true,
};

export const allHabits: readonly Habits[] = [
  python,
  { ...python, name: "Python-style, in legacy mode", opens: "initialize" },
  go,
  { ...go, name: "Go-style, in legacy mode", opens: "initialize" },
  rust,
  gemini,
  vsCode,
];
