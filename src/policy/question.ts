import type { ItemKind } from "../model/item.ts";
import type { JsonObject } from "../model/json.ts";
import type { Principal } from "../model/principal.ts";
import type { Era } from "../model/revision.ts";

/** When and how a request came. */
export interface RequestFactsGiven {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly transport: "http";
  readonly era: Era;
  readonly revision: string;
}

/** What policy is asked about: the kinds of items, and what an upstream asks of the client (`ClientFeature`). */
export type SubjectKind = ItemKind | "clientFeature";

/** An item, or a feature of the client that `upstream` wants to use. */
export interface Subject {
  readonly upstream: string;
  readonly kind: SubjectKind;
  /** The upstream's own name, URI or URI template; of a client's feature, a `ClientFeature`. */
  readonly name: string;
  /** SHA-256 (hex) of the item's definition as it is now, as in `Item`; absent where there is none, or nobody knows. */
  readonly digest?: string | undefined;
}

/**
 * What is asked of a policy: may this principal use this item, with these arguments, now? Or: may this upstream
 * ask this of the principal's client, with these parameters, now?
 */
export interface Question {
  readonly principal: Principal;
  /** The virtual server the request came to. */
  readonly server: string;
  readonly item: Subject;
  /** The arguments or parameters as they will be sent (`{}` when there are none); undefined when they are not known. */
  readonly args: JsonObject | undefined;
  readonly request: RequestFactsGiven;
}
