import { readOwn, type JsonObject } from "../../model/json.ts";
import { isAtLeast, isLogLevel, type LogLevel } from "../../model/log-level.ts";
import { withoutHopMeta } from "../../protocol/hop-meta.ts";
import { notificationMessage } from "../../protocol/jsonrpc.ts";
import { withoutRelatedTask } from "../../protocol/tasks.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { cleanObject } from "../../sanitize/clean-value.ts";
import { contentFields } from "../../sanitize/field-rule.ts";
import { noteFindings, type Exchange } from "../exchange.ts";
import { fieldsRemovedFrom } from "../removed-fields.ts";

/** What of an upstream's log a call brings to its client. */
export interface LogRelay {
  readonly logLevel: LogLevel;
  readonly onLog: (params: JsonObject) => void;
}

/**
 * What to do with the log messages of an upstream's call: undefined when the client wants none or takes no event
 * stream. A modern client names its level with the request and gets nothing without one (2026-07-28, logging); a
 * legacy client sets it for its session and, before it has, gets what servers send by themselves, `info` and above
 * (2025-11-25, logging). Messages are cleaned like results, and those below the level dropped here again. None come of
 * a tool from whose results policy removes fields: they may repeat one.
 */
export function relayLog(x: Exchange): LogRelay | undefined {
  const logLevel = levelOf(x);
  if (logLevel === undefined || fieldsRemovedFrom(x.target?.entry) !== undefined) return undefined;
  const stream = x.arrival.stream();
  if (stream === undefined) return undefined;
  return {
    logLevel,
    onLog: (params) => {
      const level = readOwn(params, "level");
      if (!isLogLevel(level) || !isAtLeast(level, logLevel) || !Object.hasOwn(params, "data")) return;
      const cleaned = cleanObject(withoutRelatedTask(withoutHopMeta(params)), { fields: contentFields });
      noteFindings(x, cleaned.findings);
      stream.send(writeJson(notificationMessage("notifications/message", cleaned.value)));
    },
  };
}

function levelOf(x: Exchange): LogLevel | undefined {
  return x.logLevel ?? (x.classified?.era === "legacy" ? "info" : undefined);
}
