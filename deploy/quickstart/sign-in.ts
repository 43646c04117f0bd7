/** A person at a browser, as far as a program needs one. */
export interface SignInRequest {
  /** Where the client would send the browser. */
  readonly authorizationUrl: string | URL;
  readonly username: string;
  readonly password: string;
  /** What the person answers when asked to allow access; `allow` unless said otherwise. */
  readonly answer?: "allow" | "deny";
}

const stepsMax = 12;

/**
 * Signs in at the built-in authorization server without a browser: follows its redirects, keeps its
 * cookies, fills in its forms, and stops at the first redirect that leaves its origin. That is the
 * client's redirect URI with `code` or `error`, which nobody fetches here. Throws when a page is
 * neither of the forms, with its status and title.
 */
export async function signInHeadlessly(request: SignInRequest): Promise<URL> {
  const start = new URL(request.authorizationUrl);
  const cookies = new CookieJar();
  let next: Step = { url: start, form: undefined };
  for (let step = 0; step < stepsMax; step += 1) {
    const response = await send(next, cookies);
    const location = response.headers.get("location");
    if (location === null) {
      next = await fillIn(response, next.url, request);
      continue;
    }
    const target = new URL(location, next.url);
    if (target.origin !== start.origin) return target;
    next = { url: target, form: undefined };
  }
  throw new Error(`the sign-in did not end within ${String(stepsMax)} steps`);
}

interface Step {
  readonly url: URL;
  readonly form: URLSearchParams | undefined;
}

async function send({ url, form }: Step, cookies: CookieJar): Promise<Response> {
  const response = await fetch(url, {
    redirect: "manual",
    headers: { cookie: cookies.headerFor(url), accept: "text/html" },
    ...(form === undefined ? {} : { method: "POST", body: form }),
  });
  cookies.take(response.headers.getSetCookie(), url);
  return response;
}

/** The form of a page, filled in. A sign-in page that comes back with a status of 400 or above is a refusal. */
async function fillIn(response: Response, page: URL, request: SignInRequest): Promise<Step> {
  const text = await response.text();
  const action = attribute(text, /<form[^>]*\saction="([^"]*)"/);
  const token = attribute(text, /name="token"\s+value="([^"]*)"/);
  if (!response.ok || action === undefined || token === undefined) {
    const title = attribute(text, /<title>([^<]*)</) ?? text.slice(0, 200);
    throw new Error(`the authorization server answered ${String(response.status)}: ${title}`);
  }
  const form = new URLSearchParams({ token });
  if (text.includes('name="password"')) {
    form.set("username", request.username);
    form.set("password", request.password);
    form.set("action", "go");
  } else {
    form.set("action", request.answer === "deny" ? "cancel" : "go");
  }
  return { url: new URL(action, page), form };
}

function attribute(text: string, pattern: RegExp): string | undefined {
  return pattern.exec(text)?.[1]?.replaceAll("&amp;", "&");
}

interface Cookie {
  readonly value: string;
  readonly path: string;
}

/** Cookies of one origin, by name and path, as RFC 6265 §5.4 sends them. */
class CookieJar {
  readonly #cookies = new Map<string, Cookie>();

  take(lines: readonly string[], url: URL): void {
    for (const line of lines) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const name = pair.slice(0, pair.indexOf("="));
      const value = pair.slice(pair.indexOf("=") + 1);
      const path = attributes.find((entry) => /^path=/i.test(entry))?.slice(5) ?? url.pathname;
      const expires = attributes.find((entry) => /^expires=/i.test(entry))?.slice(8);
      const gone = value === "" || (expires !== undefined && Date.parse(expires) <= Date.now());
      if (gone) this.#cookies.delete(`${name};${path}`);
      else this.#cookies.set(`${name};${path}`, { value, path });
    }
  }

  headerFor(url: URL): string {
    return [...this.#cookies]
      .filter(
        ([, { path }]) => url.pathname === path || url.pathname.startsWith(path.endsWith("/") ? path : `${path}/`),
      )
      .map(([key, { value }]) => `${key.slice(0, key.indexOf(";"))}=${value}`)
      .join("; ");
  }
}
