import type { IncomingMessage, ServerResponse } from "node:http";

export interface Cookies {
  read(req: IncomingMessage): string | undefined;
  set(res: ServerResponse, value: string, lifeMs: number): void;
  clear(res: ServerResponse): void;
}

/**
 * One cookie for the whole origin and no other host (RFC 6265bis §4.1.3.2): no subdomain and no page over plain http
 * can plant another. Without TLS, which is on loopback alone, browsers keep no prefixed cookie.
 *
 * `Lax`, since providers send the browser back from their own site; every change asks for the form's token besides.
 */
export function createCookie(publicUrl: string, name: string): Cookies {
  const overTls = publicUrl.startsWith("https:");
  const fullName = fullNameOf(publicUrl, name);
  const attributes = `Path=/; HttpOnly; SameSite=Lax${overTls ? "; Secure" : ""}`;
  const write = (res: ServerResponse, value: string, seconds: number): void => {
    res.appendHeader("set-cookie", `${fullName}=${value}; Max-Age=${String(seconds)}; ${attributes}`);
  };
  return {
    read: (req) => {
      const found = pairsOf(req).filter((pair) => pair.startsWith(`${fullName}=`));
      // Two of one name: another page of this host set one, and which is ours nobody can say.
      return found.length === 1 ? found[0]?.slice(fullName.length + 1) : undefined;
    },
    set: (res, value, lifeMs) => {
      write(res, value, Math.ceil(lifeMs / 1_000));
    },
    clear: (res) => {
      write(res, "", 0);
    },
  };
}

/** The names of the cookies that `req` carries and that begin with `prefix`, as `createCookie` takes them. */
export function cookieNames(req: IncomingMessage, publicUrl: string, prefix: string): readonly string[] {
  const hidden = fullNameOf(publicUrl, "").length;
  const names = pairsOf(req).map((pair) => pair.slice(0, Math.max(pair.indexOf("="), 0)));
  return names.filter((name) => name.startsWith(fullNameOf(publicUrl, prefix))).map((name) => name.slice(hidden));
}

function fullNameOf(publicUrl: string, name: string): string {
  return publicUrl.startsWith("https:") ? `__Host-${name}` : name;
}

function pairsOf(req: IncomingMessage): readonly string[] {
  return (req.headers.cookie ?? "").split(";").map((pair) => pair.trim());
}
