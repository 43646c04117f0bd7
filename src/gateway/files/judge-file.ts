import type { Decision } from "../../model/decision.ts";
import { StoreUnavailable } from "../../model/records.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Entry } from "../../catalog/table.ts";
import { decide } from "../../policy/decide.ts";
import { digestOf } from "../../protocol/json/canonical.ts";
import type { Question } from "../../policy/question.ts";
import { layDutiesOf } from "../duties.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { admitTransport } from "../steps/admit-transport.ts";
import { applyLimits } from "../steps/apply-limits.ts";
import { attachCredential } from "../steps/attach-credential.ts";
import { authenticate } from "../steps/authenticate.ts";
import { recordIntent } from "../steps/record-intent.ts";
import { refusalOf } from "../steps/decide.ts";
import { readFilePath, type FilePath } from "./file-path.ts";
import type { FileRoute, FileRoutes } from "./file-routes.ts";

/** A request for a file on its way. `x` is its exchange: what is recorded, counted and logged of it. */
export interface FileVisit {
  readonly x: Exchange;
  /** The request target as it was received. */
  readonly asked: string;
  file: WantedFile | undefined;
}

export interface WantedFile {
  readonly route: FileRoute;
  readonly path: FilePath;
}

type FileStep = (visit: FileVisit, of: Judging) => Refusal | undefined | Promise<Refusal | undefined>;

interface Judging {
  readonly gateway: Gateway;
  readonly routes: FileRoutes;
}

/**
 * The journey of a file until it is fetched. The steps that a call takes too are the same ones; between them
 * stand those that only a file needs. Afterwards `recordOutcome` records exactly one outcome, refused ones too.
 */
const steps: readonly FileStep[] = [
  ({ x }, { gateway }) => admitTransport(x, gateway),
  ({ x }, { gateway }) => authenticate(x, gateway),
  onlyRead,
  resolveFile,
  decideFile,
  ({ x }, { gateway }) => applyLimits(x, gateway),
  ({ x }, { gateway }) => recordIntent(x, gateway),
  ({ x }) => attachCredential(x),
];

/** Sets `file` and everything of the exchange that its evidence needs, or refuses. Nothing is dialled. */
export async function judgeFile(visit: FileVisit, of: Judging): Promise<Refusal | undefined> {
  try {
    for (const step of steps) {
      const refusal = await step(visit, of);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  } catch (cause) {
    return refuse(cause instanceof StoreUnavailable ? "STORE_UNAVAILABLE" : "INTERNAL_FAULT", {}, { cause }).refusal;
  }
}

function onlyRead({ x }: FileVisit): Refusal | undefined {
  const { httpMethod } = x.arrival;
  if (httpMethod === "GET" || httpMethod === "HEAD") return undefined;
  return refuse("FILE_METHOD_REFUSED", { allow: ["GET", "HEAD"] }).refusal;
}

/** Another server's upstream, one without files and one that does not exist are answered alike. */
function resolveFile(visit: FileVisit, { routes }: Judging): Refusal | undefined {
  const path = readFilePath(visit.asked);
  if (!path.ok) return path.refusal;
  const route = routes.find(path.value.server, path.value.upstream);
  const countedAs = route?.globOf(path.value.path);
  if (route === undefined || countedAs === undefined) return refuse("ROUTE_UNKNOWN").refusal;
  visit.file = { route, path: path.value };
  const entry = entryOf(urlOf(visit.file), route.upstream);
  visit.x.target = { kind: "resource", asked: visit.asked, entry, countedAs: `${route.origin}${countedAs}` };
  return undefined;
}

/** The file's own URL, as the upstream's results name it: what policy is asked about. */
function urlOf({ route, path }: WantedFile): string {
  return `${route.origin}${path.path}${path.query}`;
}

/** A file is no item of the catalog, yet evidence names it as what policy took it for: a resource of its upstream. */
function entryOf(uri: string, upstream: string): Entry {
  const definition = { uri };
  return {
    item: { upstream, kind: "resource", name: uri, definition, digest: digestOf(definition) },
    exposed: uri,
    shown: definition,
    withheld: undefined,
    simplifies: false,
    shownInput: undefined,
    ownInput: undefined,
    output: undefined,
    paramHeaders: undefined,
    connects: false,
    matches: undefined,
    shaped: undefined,
  };
}

/** Decided as a read of the resource that has the file's URL. No session or revision is behind it: it counts as modern. */
function decideFile(visit: FileVisit, { gateway }: Judging): Refusal | undefined {
  const { x } = visit;
  const policy = policyOf(x, gateway);
  const question: Question = {
    principal: given(x.principal, "a principal"),
    server: x.arrival.server.name,
    item: given(x.target?.entry, "a file").item,
    args: {},
    request: { now: gateway.now(), transport: "http", era: "modern", revision: "" },
  };
  const decision: Decision = decide(policy, question);
  x.decision = decision;
  const refusal = refusalOf(decision);
  if (refusal === undefined) layDutiesOf(x, gateway, { policy, question });
  return refusal;
}
