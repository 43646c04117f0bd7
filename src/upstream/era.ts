import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { isLegacyRevision, isModernRevision } from "../model/revision.ts";
import type { RpcError } from "../model/rpc.ts";
import { deliver } from "./deliver.ts";
import { identityFromDiscover } from "./identity.ts";
import type { Link } from "./link.ts";
import { modernHop, writeModern } from "./modern.ts";
import type { OnAccountOf, UpstreamIdentity } from "./port.ts";
import type { Reply } from "./reply.ts";
import { createSingleFlight } from "./single-flight.ts";
import { faultOf } from "./verdict.ts";

/** Which era an upstream speaks; a modern one has said who it is in the same answer. */
export type EraVerdict = { readonly era: "legacy" } | { readonly era: "modern"; readonly identity: UpstreamIdentity };

/** The remembered verdict on one upstream, as one credential sees it. */
export interface Era {
  /** The verdict in force, without asking. */
  readonly known: EraVerdict | undefined;
  /** Asks when no verdict is in force; concurrent callers share one probe. */
  find(account: OnAccountOf): Promise<Result<EraVerdict>>;
  /** The upstream behaved unlike its verdict: the next caller asks again. */
  forget(): void;
}

export function createEra(link: Link): Era {
  const flight = createSingleFlight<Result<EraVerdict>>();
  let held: { readonly verdict: EraVerdict; readonly until: number } | undefined;
  const known = (): EraVerdict | undefined =>
    held !== undefined && link.now() < held.until ? held.verdict : undefined;
  return {
    get known() {
      return known();
    },
    async find(account) {
      const remembered = known();
      if (remembered !== undefined) return ok(remembered);
      return flight.run("probe", async () => {
        const probed = await probe(link, account);
        if (probed.ok) held = { verdict: probed.value, until: link.now() + link.limits.eraVerdictAgeMsMax };
        return probed;
      });
    },
    forget() {
      held = undefined;
    },
  };
}

/** −32022, `UnsupportedProtocolVersion` (2026-07-28, basic, "Error Codes"). */
const unsupportedVersion = -32022;

/**
 * Asks `server/discover` (2026-07-28, "Discovery"). An upstream that knows the method answers with the
 * revisions it speaks, or with −32022 and the same; whoever answers with another error, a 4xx, or a result
 * that names no revisions, as servers do that answer every method with `{}`, is taken for legacy. An outage is no verdict: a 5xx, a timeout, a 408, 425 or 429, a lost connection or a 2xx that
 * holds no answer is a failure and is not remembered.
 */
async function probe(link: Link, account: OnAccountOf): Promise<Result<EraVerdict>> {
  const first = judge(await askDiscover(link, account));
  if (first !== "again") return first;
  // It lists the very revision it refused. It may have been restarted in between: once more, no further.
  const second = judge(await askDiscover(link, account));
  return second === "again" ? refuse("UPSTREAM_REVISION_UNSUPPORTED", { upstream: link.upstream }) : second;
}

async function askDiscover(link: Link, account: OnAccountOf): Promise<Reply> {
  const { reply } = await deliver(link, {
    account,
    method: "POST",
    lane: "control",
    expectsAnswer: true,
    until: link.now() + link.timeouts.probeMs,
    write: (id) => writeModern(link, id, { method: "server/discover", params: {} }),
  });
  return reply;
}

type Judged = Result<EraVerdict> | "again";

function judge(reply: Reply): Judged {
  const fault = faultOf(reply);
  if (reply.kind === "response") {
    if (fault !== undefined) return { ok: false, refusal: fault.refusal };
    if ("result" in reply.response) return judgeDiscovered(reply.response.result);
    return judgeError(reply.response.error, reply.status);
  }
  if (fault === undefined) return refuse("UPSTREAM_ANSWER_INVALID", { reason: reply.kind });
  const error = reply.kind === "accepted" ? undefined : reply.error;
  const status = reply.kind === "status" ? reply.status : 200;
  if (error !== undefined && !isAuth(status)) return judgeError(error, status);
  return reply.kind === "status" && isRejection(status) ? legacy : { ok: false, refusal: fault.refusal };
}

const legacy: Result<EraVerdict> = ok({ era: "legacy" });

function judgeDiscovered(result: JsonObject): Judged {
  const named = readOwn(result, "supportedVersions");
  if (named === undefined) return legacy;
  const versions = strings(named);
  if (versions.length === 0) return refuse("UPSTREAM_ANSWER_INVALID", { reason: "no supportedVersions" });
  if (versions.some(isModernRevision)) return ok({ era: "modern", identity: identityFromDiscover(result, modernHop) });
  return versions.some(isLegacyRevision) ? legacy : refuse("UPSTREAM_REVISION_UNSUPPORTED", {});
}

function judgeError(error: RpcError, status: number): Judged {
  if (error.code === unsupportedVersion) {
    const supported = isJsonObject(error.data) ? strings(readOwn(error.data, "supported")) : [];
    if (supported.some(isModernRevision)) return "again";
    return supported.some(isLegacyRevision) ? legacy : refuse("UPSTREAM_REVISION_UNSUPPORTED", {});
  }
  const answered = status < 300 || isRejection(status);
  return answered ? legacy : refuse("UPSTREAM_STATUS_UNEXPECTED", { status });
}

/** A 4xx that says "not like this", rather than "not you" or "not now". */
function isRejection(status: number): boolean {
  return status >= 400 && status < 500 && !isAuth(status) && ![408, 425, 429].includes(status);
}

function isAuth(status: number): boolean {
  return status === 401 || status === 403;
}

function strings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
