import type { ClientFeature } from "../../model/client-feature.ts";
import type { JsonObject } from "../../model/json.ts";
import type { Era } from "../../model/revision.ts";
import type { Question, Subject } from "../../policy/question.ts";
import { given, type Exchange } from "../exchange.ts";

/** The question that policy answers about one item; `args` undefined means they are not known. */
export function questionAbout(x: Exchange, item: Subject, now: number, args?: JsonObject): Question {
  return {
    principal: given(x.principal, "a principal"),
    server: x.arrival.server.name,
    item: { upstream: item.upstream, kind: item.kind, name: item.name, digest: item.digest },
    args,
    request: { now, transport: "http", ...hopOf(x) },
  };
}

/** How the client speaks, as policy may read it. */
export function hopOf({ classified, session }: Exchange): { readonly era: Era; readonly revision: string } {
  const { era, revision = "" } = given(classified, "a classified message");
  return { era, revision: session?.revision ?? revision };
}

export interface FeatureAsked {
  readonly upstream: string;
  readonly feature: ClientFeature;
  /** The parameters of the upstream's request; undefined while none is there yet. */
  readonly params?: JsonObject | undefined;
}

/** The question that policy answers when an upstream asks something of the client behind the exchange. */
export function questionAboutFeature(x: Exchange, { upstream, feature, params }: FeatureAsked, now: number): Question {
  return questionAbout(x, { upstream, kind: "clientFeature", name: feature }, now, params);
}
