import { limits } from "../../model/limits.ts";
import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";

/** Which file a request names, in the bytes it was named with. */
export interface FilePath {
  readonly server: string;
  readonly upstream: string;
  /** The path at the upstream's origin, from the root. */
  readonly path: string;
  /** With its `?`; empty when there is none. */
  readonly query: string;
}

/** Percent-encoding is undone this often to see what a reader may find below; deeper encodings are refused. */
const decodingRoundsMax = 3;

/** The server that a request target below `/files/` names, whatever follows; undefined when none stands there. */
export function serverNamed(target: string): string | undefined {
  return /^\/files\/([^/?#]+)/.exec(target)?.[1];
}

/**
 * Reads `/files/{server}/{upstream}/{path}` from a request target (RFC 9112 §3.2.1). Refuses with URL_MALFORMED
 * whatever two readers might take differently, so that what is judged here, what the library between makes of it
 * and what the upstream opens are one path. Not checked: whether server and upstream exist.
 */
export function readFilePath(target: string): Result<FilePath> {
  if (target.length > limits.uriCharsMax) return malformed("too long");
  const [, server = "", upstream = "", path = "", query = ""] =
    /^\/files\/([^/?]+)\/([^/?]+)(\/[^?]*)(\?.*)?$/s.exec(target) ?? [];
  if (server === "") return malformed("not a file's path");
  const fault = pathFault(path) ?? queryFault(query);
  return fault === undefined ? ok({ server, upstream, path, query }) : malformed(fault);
}

/** Why a path is not one that everybody reads alike, or undefined. */
function pathFault(path: string): string | undefined {
  // `pchar` (RFC 3986 §3.3) without `;`, after which some servers cut a segment and others do not.
  if (!/^(?:\/(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2})+)+$/.test(path)) return "character or empty segment";
  return faultBelow(path, (text) => {
    // Encoded, they divide the path for a reader who decodes before dividing, and for nobody else.
    if (text !== path && /[\\?#;]/.test(text)) return "encoded separator";
    if (text.split("/").length !== path.split("/").length) return "encoded separator";
    if (/\p{Cc}/u.test(text)) return "control character";
    // Besides dot segments, what some file systems shorten to other names: `..name`, `name.`, `name `.
    return text.split("/").some((segment) => /^\.{1,2}$|^\.\.|\.$|^\s|\s$/u.test(segment)) ? "dot segment" : undefined;
  });
}

/** A query belongs to the upstream: it may hold anything that is legal in one and hides no control character. A `?` alone is refused, as some drop it. */
function queryFault(query: string): string | undefined {
  if (!/^(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})+)?$/.test(query)) return "character";
  return faultBelow(query, (text) => (/\p{Cc}/u.test(text) ? "control character" : undefined));
}

/** The fault of a text, or of what it becomes when it is decoded again and again. */
function faultBelow(text: string, faultOf: (text: string) => string | undefined): string | undefined {
  let here = text;
  for (let round = 0; round <= decodingRoundsMax; round += 1) {
    const fault = faultOf(here);
    if (fault !== undefined) return fault;
    const next = decoded(here);
    if (next === here) return undefined;
    if (next === undefined) return "encoding";
    here = next;
  }
  return "encoding";
}

/** Undefined for what is no UTF-8 (RFC 3986 §2.5), overlong forms and surrogates included. */
function decoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function malformed(fault: string): Result<never> {
  return refuse("URL_MALFORMED", { fault });
}
