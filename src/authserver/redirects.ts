import { limits } from "../model/limits.ts";

/**
 * Private-use schemes of clients in wide use (RFC 8252 §7.1). A scheme belongs to whichever
 * application the operating system gave it to; PKCE is what keeps a stolen code useless.
 */
const schemesOfKnownClients: readonly string[] = [
  "claude",
  "cursor",
  "vscode",
  "vscode-insiders",
  "vscodium",
  "windsurf",
  "zed",
];

/** Schemes whose URLs execute or read something by themselves. No configuration admits them. */
const schemesNeverAccepted: ReadonlySet<string> = new Set([
  "about",
  "blob",
  "data",
  "file",
  "filesystem",
  "http",
  "https",
  "javascript",
  "vbscript",
  "view-source",
]);

/** The loopback hosts of RFC 8252 §7.3 and §8.3, literally: `127.1` and `LOCALHOST` are somebody else's spelling. */
const loopbackOrigin = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(?=[/?]|$)/;

export function redirectSchemes(configured: readonly string[]): ReadonlySet<string> {
  const wanted = [...schemesOfKnownClients, ...configured.map((scheme) => scheme.toLowerCase())];
  return new Set(wanted.filter((scheme) => !schemesNeverAccepted.has(scheme)));
}

/**
 * Whether `uri` may be registered: https to a host that is not this machine, http to a loopback host,
 * or an accepted private-use scheme; without user information and without a fragment (RFC 6749 §3.1.2).
 * It does not check who owns the host.
 */
export function isAcceptableRedirect(uri: string, schemes: ReadonlySet<string>): boolean {
  if (uri.length > limits.oauthRedirectUriCharsMax || !isPrintableAscii(uri) || uri.includes("#")) return false;
  if (!URL.canParse(uri)) return false;
  const url = new URL(uri);
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "http:") return loopbackOrigin.test(uri);
  if (url.protocol === "https:") return isPublicHost(url.hostname);
  return schemes.has(url.protocol.slice(0, -1));
}

/**
 * Whether a presented redirect URI is one of the registered ones: the exact string, or, on a loopback
 * host, the exact string but for the port (RFC 8252 §7.3), which native clients choose anew each time.
 */
export function isRegisteredRedirect(registered: readonly string[], presented: string): boolean {
  if (registered.includes(presented)) return true;
  const portless = withoutLoopbackPort(presented);
  return portless !== undefined && registered.some((uri) => withoutLoopbackPort(uri) === portless);
}

/** An application that receives its codes on its own machine, in the words of OpenID Registration §2. */
export function isNativeRedirect(uri: string): boolean {
  return !uri.startsWith("https:");
}

/** How a redirect URI is shown to a person, and named in the `form-action` of a content security policy. */
export interface RedirectTarget {
  readonly label: string;
  readonly formAction: string;
}

/**
 * The policy has to name the target since Chromium applies `form-action` to the redirects that follow
 * a form post. CSP knows no IPv6 host literals, so that `[::1]` is admitted by its scheme.
 */
export function redirectTarget(uri: string): RedirectTarget | undefined {
  if (!URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  if (loopbackOrigin.test(uri)) {
    const formAction = url.hostname.startsWith("[") ? "http:" : url.origin;
    return { label: "an application on this computer", formAction };
  }
  if (url.protocol === "https:" || url.protocol === "http:") return { label: url.host, formAction: url.origin };
  return { label: `the application that opens ${url.protocol} links`, formAction: url.protocol };
}

function withoutLoopbackPort(uri: string): string | undefined {
  const origin = loopbackOrigin.exec(uri);
  if (origin === null || !URL.canParse(uri) || uri.includes("#")) return undefined;
  const rest = uri.slice(origin[0].length);
  const path = rest.startsWith("/") ? rest : `/${rest}`;
  return `http://${origin[1] ?? ""}${path}`;
}

/** Letters, digits, dots and hyphens: a host such as `a;sandbox` parses, but would end a policy directive. */
function isPublicHost(hostname: string): boolean {
  if (!/^[a-z0-9.-]+$/.test(hostname)) return false;
  return hostname !== "localhost" && !hostname.endsWith(".localhost") && !hostname.startsWith("127.");
}

function isPrintableAscii(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
