import { printable, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { Config } from "./types.ts";

/** Published URLs are made by appending to it, so nothing may follow its host (design, decision 10). */
export function publicUrlIsAnOrigin({ publicUrl }: Config): PlacedFault[] {
  if (isOrigin(publicUrl)) return [];
  const expected = "an origin such as https://mcp.example.com, in lower case, without path, query or credentials";
  return [{ place: ["publicUrl"], found: printable(publicUrl), expected, rule: "publicUrlIsAnOrigin" }];
}

/** OAuth sends tokens to it: TLS always, except on this machine (RFC 6749 §3.1, RFC 8252 §8.3). */
export function publicUrlIsHttpsOrLoopback({ publicUrl }: Config): PlacedFault[] {
  if (!URL.canParse(publicUrl)) return [];
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname))) return [];
  const expected = "https, or http on a loopback host";
  return [{ place: ["publicUrl"], found: printable(publicUrl), expected, rule: "publicUrlIsHttpsOrLoopback" }];
}

/** Browsers send serialised origins (RFC 6454 §6.2); anything else would never match. `null` is not one. */
export function allowedOriginsAreOrigins({ allowedOrigins, publicUrl }: Config): PlacedFault[] {
  return allowedOrigins.flatMap((origin, index) =>
    isOrigin(origin) || origin === publicUrl
      ? []
      : [
          {
            place: ["allowedOrigins", index],
            found: printable(origin),
            expected: "an origin such as https://app.example.com, in lower case, without a slash at its end",
            rule: "allowedOriginsAreOrigins",
          },
        ],
  );
}

export function listenersDoNotShareAPort({ listen, operations }: Config): PlacedFault[] {
  if (listen.port === 0 || listen.port !== operations.port) return [];
  const expected = "another port than listen.port, so that metrics are not published";
  return [{ place: ["operations", "port"], found: printable(listen.port), expected, rule: "listenersDoNotShareAPort" }];
}

/** `URL.origin` is `null` text for schemes without one, which no URL equals. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
