import type { ItemIdentity } from "../model/item.ts";
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

/** What is asked of a policy: may this principal use this item, with these arguments, now? */
export interface Question {
  readonly principal: Principal;
  /** The virtual server the request came to. */
  readonly server: string;
  readonly item: ItemIdentity;
  /** The arguments as they will be sent (`{}` when there are none); undefined when they are not known. */
  readonly args: JsonObject | undefined;
  readonly request: RequestFactsGiven;
}
