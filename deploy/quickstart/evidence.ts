import { setTimeout as wait } from "node:timers/promises";
import { findByRef } from "../../src/audit/find.ts";
import { readEvent } from "../../src/audit/read-event.ts";
import { fileLines } from "../../src/cli/evidence-lines.ts";
import { tellStory } from "../../src/cli/story.ts";
import { isJsonObject, readOwn, readOwnString, type JsonObject } from "../../src/model/json.ts";

/** What to look for among events. Members that are absent match everything. */
export interface Sought {
  readonly type: string;
  readonly subject?: string;
  readonly exposedName?: string;
}

export interface Evidence {
  /** Every event with this reference, in words, as `sallyport why` tells them; waits for the outcome. */
  told(ref: string): Promise<Told>;
  /**
   * Begins to watch; the returned function waits for the first such event that was not there yet. A success
   * tells its caller no reference, so this is how the story finds it.
   */
  watch(sought: Sought): Promise<() => Promise<JsonObject>>;
}

export interface Told {
  readonly events: readonly JsonObject[];
  readonly lines: readonly string[];
}

const pauseMs = 20;
/** Events are written within milliseconds; a machine that needs longer than a minute has another problem. */
const triesMax = 3_000;

export function openEvidence(path: string): Evidence {
  return {
    told: async (ref) => {
      const events = await until(`the outcome of ${ref}`, async () => {
        const found = await findByRef(fileLines(path), ref);
        return found.some((event) => readOwnString(event, "type") !== "attempted") ? found : undefined;
      });
      return { events, lines: tellStory(events) };
    },
    watch: async (sought) => {
      const known = (await matching(path, sought)).length;
      return () => until(`a new event ${sought.type}`, async () => (await matching(path, sought))[known]);
    },
  };
}

async function matching(path: string, sought: Sought): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  for await (const line of fileLines(path)) {
    const event = readEvent(line)?.event;
    if (event !== undefined && matches(event, sought)) found.push(event);
  }
  return found;
}

function matches(event: JsonObject, { type, subject, exposedName }: Sought): boolean {
  const principal = readOwn(event, "principal");
  const who = isJsonObject(principal) ? readOwnString(principal, "subject") : undefined;
  return (
    readOwnString(event, "type") === type &&
    (subject === undefined || who === subject) &&
    (exposedName === undefined || readOwnString(event, "exposedName") === exposedName)
  );
}

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await wait(pauseMs);
  }
  throw new Error(`${what} did not appear`);
}
