/** A browser in a test's hands: one step at a time, with cookies, showing each answer as it came. */
export interface Browser {
  /** Opens a URL and follows redirects until a page, or a redirect that leaves the origin. */
  open(url: string | URL): Promise<View>;
  /** Sends the form of the page in view, with these fields over its own. */
  submit(view: View, fields: Record<string, string>, headers?: Record<string, string>): Promise<View>;
  readonly cookies: ReadonlyMap<string, string>;
}

export interface View {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where a redirect that left the origin points. */
  readonly left: URL | undefined;
}

export function createBrowser(cookies: Map<string, string> = new Map<string, string>()): Browser {
  const visit = async (url: URL, init: RequestInit): Promise<View> => {
    const headers = new Headers(init.headers);
    const sent = [...cookies].filter(([key]) => url.pathname.startsWith(key.slice(key.indexOf(";") + 1)));
    headers.set("cookie", sent.map(([key, value]) => `${key.slice(0, key.indexOf(";"))}=${value}`).join("; "));
    headers.set("accept", "text/html");
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) keep(cookies, line);
    const location = response.headers.get("location");
    const text = await response.text();
    if (location === null) return { url, status: response.status, headers: response.headers, text, left: undefined };
    const target = new URL(location, url);
    if (target.origin === url.origin) return visit(target, {});
    return { url, status: response.status, headers: response.headers, text, left: target };
  };
  return {
    cookies,
    open: (url) => visit(new URL(url), {}),
    submit: (view, fields, headers = {}) => {
      const form = new URLSearchParams({ token: hiddenToken(view), action: "go", ...fields });
      return visit(view.url, { method: "POST", body: form, headers });
    },
  };
}

export function hiddenToken(view: View): string {
  return /name="token"\s+value="([^"]*)"/.exec(view.text)?.[1] ?? "";
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
  const path = attributes.find((entry) => entry.toLowerCase().startsWith("path="))?.slice(5) ?? "/";
  const key = `${pair.slice(0, pair.indexOf("="))};${path}`;
  const value = pair.slice(pair.indexOf("=") + 1);
  if (value === "") cookies.delete(key);
  else cookies.set(key, value);
}
