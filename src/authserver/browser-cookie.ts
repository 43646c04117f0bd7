import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

const shape = /^[A-Za-z0-9_-]{43}$/;

/**
 * A random name for this browser, so that what one browser began at the provider only it can finish. Written anew
 * unless the browser has one; several tabs share it. `__Host-` keeps other hosts from planting one (RFC 6265bis
 * §4.1.3), and is left out on plain-http loopback alone, where browsers refuse it.
 */
export function nameBrowser(req: IncomingMessage, res: ServerResponse, publicUrl: string): string {
  const known = browserOf(req, publicUrl);
  if (known !== undefined) return known;
  const made = randomBytes(32).toString("base64url");
  const secure = publicUrl.startsWith("https:") ? "; Secure" : "";
  res.appendHeader("set-cookie", `${cookieName(publicUrl)}=${made}; Path=/; HttpOnly; SameSite=Lax${secure}`);
  return digestOf(made);
}

/** The digest of that name, which is what is kept; undefined for a browser that has none. */
export function browserOf(req: IncomingMessage, publicUrl: string): string | undefined {
  const wanted = `${cookieName(publicUrl)}=`;
  const pair = (req.headers.cookie ?? "").split(";").find((each) => each.trim().startsWith(wanted));
  const value = pair?.trim().slice(wanted.length) ?? "";
  return shape.test(value) ? digestOf(value) : undefined;
}

function cookieName(publicUrl: string): string {
  return `${publicUrl.startsWith("https:") ? "__Host-" : ""}sallyport_provider`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
