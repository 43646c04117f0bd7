import { isJsonObject, readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";

/** Members that are judged here or routed by, and that a server acts on. */
const judged: ReadonlySet<string> = new Set([
  "name",
  "arguments",
  "uri",
  "ref",
  "argument",
  "context",
  "type",
  "value",
  "_meta",
  "cursor",
  "level",
  "task",
  "taskId",
  "requestId",
  "requestState",
  "inputResponses",
  "notifications",
  "progressToken",
  "protocolVersion",
  "capabilities",
]);

const judgedFolded: ReadonlySet<string> = new Set([...judged].map(fold));

/**
 * Whether parameters hold a member that a lax reader takes for one that is judged: `Name` beside `name` (Go's
 * `encoding/json` compares without case, by Unicode's simple folding), or `name`, NUL and more (readers in C end
 * there). The server would then act on a value that nobody judged. A reference of a completion is looked into,
 * as names and URIs stand there too.
 *
 * Not checked: the arguments of a tool, whose members are the tool's own and may be `a` and `A`.
 */
export function hasLookAlike(params: JsonObject): boolean {
  if (holdsOne(params)) return true;
  const ref = readOwn(params, "ref");
  return isJsonObject(ref) && holdsOne(ref);
}

function holdsOne(value: JsonObject): boolean {
  for (const key of Object.keys(value)) if (!judged.has(key) && judgedFolded.has(fold(key))) return true;
  return false;
}

/** Up first: `ſ` and `K` (Kelvin) have a capital that is a plain letter's. */
function fold(key: string): string {
  const [read = ""] = key.split("\0", 1);
  return read.toUpperCase().toLowerCase();
}
