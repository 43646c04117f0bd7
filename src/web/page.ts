import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { html } from "./html.ts";
import type { Html } from "./html.ts";
import { pageStyle } from "./page-style.ts";

/** A page as it goes out: no script, no frame, nothing loaded, styles by nonce. */
export interface Page {
  readonly markup: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PageContent {
  readonly title: string;
  readonly content: Html;
  /** CSP sources that the page's forms may lead to, redirects included; none: the page has no form. */
  readonly formAction: readonly string[];
  /** A page for reading, with lists: a wider column. */
  readonly wide?: boolean;
  /** An http or https URL where the browser goes on by itself. A navigation of its own: no form's redirect leads there. */
  readonly goOn?: string;
}

/** One whole document (HTML, CSP Level 3). `goOn` must come from us: nothing about it is checked but its escaping. */
export function renderPage({ title, content, formAction, wide = false, goOn }: PageContent): Page {
  const nonce = randomBytes(16).toString("base64url");
  const refresh = goOn === undefined ? html`` : html`<meta http-equiv="refresh" content="0; url=${goOn}" />`;
  const { markup } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        ${refresh}
        <title>${title}</title>
        <style nonce="${nonce}">
          ${{ markup: pageStyle }}
        </style>
      </head>
      <body>
        <main class="${wide ? "wide" : "narrow"}">${content}</main>
      </body>
    </html> `;
  return { markup, headers: pageHeaders(nonce, formAction) };
}

/** A page that only says something: an error, or that a sign-in cannot be continued. */
export function messagePage(title: string, message: string, detail?: string): Page {
  const small = detail === undefined ? html`` : html`<p class="detail">${detail}</p>`;
  const content = html`<h1>${title}</h1>
    <p>${message}</p>
    ${small}`;
  return renderPage({ title, content, formAction: [] });
}

export function sendPage(res: ServerResponse, status: number, page: Page): void {
  res.statusCode = status;
  for (const [name, value] of Object.entries(page.headers)) res.setHeader(name, value);
  res.end(page.markup);
}

export function sendRedirect(res: ServerResponse, location: string): void {
  res.statusCode = 303;
  res.setHeader("location", location);
  res.setHeader("content-length", 0);
  res.end();
}

/** Headers of everything that rooms with pages send. With `no-referrer` browsers would blank the `Origin` of forms. */
export function setCommonHeaders(res: ServerResponse): void {
  res.setHeader("x-content-type-options", "nosniff");
  res.setHeader("cache-control", "no-store");
  res.setHeader("referrer-policy", "same-origin");
}

function pageHeaders(nonce: string, formAction: readonly string[]): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `form-action ${formAction.length === 0 ? "'none'" : formAction.join(" ")}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy.join("; "),
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
  };
}
