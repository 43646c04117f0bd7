import { readOwn, type JsonObject } from "../../model/json.ts";
import { isRpcId, notificationMessage } from "../../protocol/jsonrpc.ts";
import { withoutHopMeta } from "../../protocol/hop-meta.ts";
import { withoutRelatedTask } from "../../protocol/tasks.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { cleanObject } from "../../sanitize/clean-value.ts";
import { contentFields } from "../../sanitize/field-rule.ts";
import { noteFindings, paramsOf, type Exchange } from "../exchange.ts";
import { fieldsRemovedFrom } from "../removed-fields.ts";

/**
 * What to do with the upstream's progress reports (basic, "Progress"): undefined when the client asked for
 * none or takes no event stream. Reports carry the client's own token, its JSON type included, are cleaned
 * like a result, and only ever increase; whatever does not is dropped. Where policy removes fields from results, they
 * are numbers alone: words may repeat a field. Nothing follows the answer, which ends the stream.
 */
export function relayProgress(x: Exchange): ((report: JsonObject) => void) | undefined {
  const progressToken = readOwn(readOwn(paramsOf(x), "_meta"), "progressToken");
  if (!isRpcId(progressToken)) return undefined;
  const stream = x.arrival.stream();
  if (stream === undefined) return undefined;
  const isWordless = fieldsRemovedFrom(x.target?.entry) !== undefined;
  let last = -Infinity;
  return (report) => {
    const progress = readOwn(report, "progress");
    if (typeof progress !== "number" || progress <= last) return;
    last = progress;
    const told = isWordless ? withoutWords(report) : withoutRelatedTask(withoutHopMeta(report));
    const cleaned = cleanObject(told, { fields: contentFields });
    noteFindings(x, cleaned.findings);
    stream.send(writeJson(notificationMessage("notifications/progress", { ...cleaned.value, progressToken })));
  };
}

function withoutWords(report: JsonObject): JsonObject {
  const { progress = null, total } = report;
  return typeof total === "number" ? { progress, total } : { progress };
}
