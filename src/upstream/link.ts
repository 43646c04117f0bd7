import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Credential } from "./credentials/credential.ts";
import type { UpstreamTimeouts } from "./options.ts";
import type { Pools } from "./pools.ts";
import type { SendBounds } from "./send.ts";

/** Everything about one upstream that a request to it needs. */
export interface Link {
  readonly upstream: string;
  /** Path and query of the MCP endpoint. */
  readonly path: string;
  readonly pools: Pools;
  readonly credential: Credential;
  readonly timeouts: UpstreamTimeouts;
  readonly bounds: SendBounds;
  readonly limits: Limits;
  /** The gateway as `clientInfo`. */
  readonly clientInfo: JsonObject;
  /** An id that no request to any upstream has had, in this process or another. */
  readonly nextId: () => string;
  readonly now: () => number;
  /** From 0 to below 1, for pauses that must not fall together. */
  readonly random: () => number;
  readonly log: (event: string, facts: Readonly<Record<string, unknown>>) => void;
}
