import type { Finding } from "../model/finding.ts";
import type { ItemKind } from "../model/item.ts";
import type { JsonObject } from "../model/json.ts";
import type { Result } from "../model/result.ts";
import type { Era } from "../model/revision.ts";

/** One page of a list, as an upstream sent it. */
export interface DefinitionPage {
  readonly definitions: readonly JsonObject[];
  readonly nextCursor: string | undefined;
  /** Size of the answer that brought it. */
  readonly bytes: number;
}

/** What an upstream says of itself, freed of its hop. */
export interface UpstreamSelf {
  readonly era: Era;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** The same as the upstream sent them, cut to `instructionsCharsMax`: what is approved, and never shown. */
  readonly ownInstructions?: string | undefined;
}

/** Where definitions come from: the upstreams, asked on the gateway's own account. */
export interface DefinitionSource {
  identify(upstream: string, signal: AbortSignal): Promise<Result<UpstreamSelf>>;
  page(request: PageRequest): Promise<Result<DefinitionPage>>;
}

export interface PageRequest {
  readonly upstream: string;
  readonly kind: ItemKind;
  readonly cursor: string | undefined;
  readonly signal: AbortSignal;
}

/** The cleaning of a definition: what may be shown, what was found, and what makes the item unsafe to show. */
export type CleanDefinition = (kind: ItemKind, definition: JsonObject) => CleanedItem;

export interface CleanedItem {
  readonly definition: JsonObject;
  readonly findings: readonly Finding[];
  readonly unsafe: readonly Finding[];
}
