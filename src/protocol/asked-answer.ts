import type { ClientFeature } from "../model/client-feature.ts";
import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { AskedRequest } from "./asked-request.ts";
import { isBlock } from "./asked-request.ts";
import { blocksOf } from "./client-features.ts";
import { withoutHopMeta, withoutKeys } from "./hop-meta.ts";

/**
 * A client's result as an answer to `asked`, freed of its hop; undefined when it is none, so that no upstream takes
 * for an answer what is something else. What a form's content holds is for whoever has the form: see `formContent`.
 *
 * - Elicitation: an action of the three. Content belongs to an accepted form alone and is taken off any other answer.
 * - Sampling: a role, a model, content blocks; uses of tools only where tools were offered.
 * - Roots: `file://` URIs (2025-11-25 and 2026-07-28, roots, "Root").
 */
export function readAnswer(asked: Pick<AskedRequest, "feature">, result: JsonObject): JsonObject | undefined {
  const freed = withoutHopMeta(result);
  switch (asked.feature) {
    case "elicitation":
      return readForm(freed);
    case "elicitation_url":
      return isAction(readOwn(freed, "action")) ? withoutKeys(freed, ["content"]) : undefined;
    case "sampling":
      return isMessage(freed) && !blocksOf(readOwn(freed, "content")).some(usesTool) ? freed : undefined;
    case "sampling_tools":
      return isMessage(freed) ? freed : undefined;
    case "roots":
      return isRoots(freed) ? freed : undefined;
  }
}

/** The content that an answer to a form holds; undefined unless the form was accepted. */
export function formContent(answer: JsonObject): JsonObject | undefined {
  const content = readOwn(answer, "content");
  return readOwn(answer, "action") === "accept" && isJsonObject(content) ? content : undefined;
}

/**
 * Whether a value may stand among `inputResponses` (2026-07-28, MRTR) when nothing is known of what was asked: it is
 * an answer to one of the requests there are.
 */
export function isSomeAnswer(value: Json): value is JsonObject {
  return isJsonObject(value) && answeredFeatures(value).length > 0;
}

/**
 * The features that a value answers by its shape alone: for each method that its receiver may take it for an answer
 * to, those it fits, of which one suffices. A value that reads as an answer to several methods is all of them.
 */
export function answeredFeatures(value: JsonObject): readonly (readonly ClientFeature[])[] {
  const found = shapes(value).map((features) =>
    features.filter((feature) => readAnswer({ feature }, value) !== undefined),
  );
  return found.filter((features) => features.length > 0);
}

/** Content is a form's. An acceptance without any is a page's first, to which nothing is added; a refusal is either's. */
function shapes(value: JsonObject): readonly (readonly ClientFeature[])[] {
  const accepts = readOwn(value, "action") === "accept";
  const ofForm = accepts && readOwn(value, "content") !== undefined;
  const elicited = ofForm ? forms : accepts ? pagesOrForms : formsOrPages;
  return [elicited, ["sampling", "sampling_tools"], ["roots"]];
}

const forms: readonly ClientFeature[] = ["elicitation"];
const formsOrPages: readonly ClientFeature[] = ["elicitation", "elicitation_url"];
const pagesOrForms: readonly ClientFeature[] = ["elicitation_url", "elicitation"];

/** SDK clients accept a form of no required fields without content; the upstream gets the content that means. */
function readForm(answer: JsonObject): JsonObject | undefined {
  const action = readOwn(answer, "action");
  if (!isAction(action)) return undefined;
  if (action !== "accept") return withoutKeys(answer, ["content"]);
  const content = readOwn(answer, "content") ?? {};
  if (!isJsonObject(content) || !Object.values(content).every(isFieldValue)) return undefined;
  return { ...answer, content };
}

function isAction(action: Json | undefined): boolean {
  return action === "accept" || action === "decline" || action === "cancel";
}

function isFieldValue(value: Json): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one === "string");
  return value !== null && !isJsonObject(value);
}

function isMessage(answer: JsonObject): boolean {
  const role = readOwn(answer, "role");
  const blocks = blocksOf(readOwn(answer, "content"));
  const known = role === "user" || role === "assistant";
  return known && readOwnString(answer, "model") !== undefined && blocks.length > 0 && blocks.every(isBlock);
}

function usesTool(block: Json): boolean {
  return readOwn(block, "type") === "tool_use" || readOwn(block, "type") === "tool_result";
}

function isRoots(answer: JsonObject): boolean {
  const roots = readOwn(answer, "roots");
  return Array.isArray(roots) && roots.length <= limits.askedRootsMax && roots.every(isRoot);
}

function isRoot(root: Json): boolean {
  const uri = readOwnString(root, "uri");
  const name = readOwn(root, "name");
  const isFile = uri?.startsWith("file://") === true && uri.length <= limits.uriCharsMax && URL.canParse(uri);
  return isFile && (name === undefined || typeof name === "string");
}
