import { randomBytes } from "node:crypto";
import { html } from "./html.ts";
import type { Html } from "./html.ts";
import type { RedirectTarget } from "./redirects.ts";
import { pageStyle } from "./page-style.ts";

/** A page as it goes out: no script, no frame, nothing loaded, styles by nonce. */
export interface Page {
  readonly markup: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What every form of ours carries. */
export interface FormContext {
  readonly action: string;
  readonly token: string;
  readonly clientName: string;
  readonly target: RedirectTarget;
}

export interface SignInForm extends FormContext {
  readonly username: string;
  /** Why the last attempt did not succeed. */
  readonly problem: string | undefined;
}

export interface ConsentForm extends FormContext {
  readonly userName: string;
  /** Whether the client registered itself, and so chose its own name. */
  readonly selfRegistered: boolean;
  readonly access: readonly { readonly resource: string; readonly scopes: readonly string[] }[];
}

export function signInPage(form: SignInForm): Page {
  const problem = form.problem === undefined ? html`` : html`<p class="problem" role="alert">${form.problem}</p>`;
  return render(
    "Sign in",
    form.target,
    html` <h1>Sign in</h1>
      <p>to continue to <strong>${form.clientName}</strong></p>
      ${problem}
      <form method="post" action="${form.action}">
        <input type="hidden" name="token" value="${form.token}" />
        <label for="username">User name</label>
        <input
          id="username"
          name="username"
          value="${form.username}"
          autocomplete="username"
          autocapitalize="none"
          spellcheck="false"
          required
          autofocus
        />
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required />
        <div class="choices">
          <button name="action" value="go">Sign in</button>
          <button name="action" value="cancel" class="quiet" formnovalidate>Cancel</button>
        </div>
      </form>`,
  );
}

export function consentPage(form: ConsentForm): Page {
  const caution = form.selfRegistered
    ? html`<p class="caution">This application chose its own name. Go on only if you started this sign-in yourself.</p>`
    : html``;
  return render(
    "Allow access",
    form.target,
    html` <h1>Allow access?</h1>
      <p><strong>${form.clientName}</strong> asks to act for you, ${form.userName}.</p>
      ${form.access.map(accessList)}
      <p>Afterwards you return to <strong>${form.target.label}</strong>.</p>
      ${caution}
      <form method="post" action="${form.action}">
        <input type="hidden" name="token" value="${form.token}" />
        <div class="choices">
          <button name="action" value="go">Allow</button>
          <button name="action" value="cancel" class="quiet">Deny</button>
        </div>
      </form>`,
  );
}

/** A page that only says something: an error, or that a sign-in cannot be continued. */
export function messagePage(title: string, message: string, detail?: string): Page {
  const small = detail === undefined ? html`` : html`<p class="detail">${detail}</p>`;
  return render(
    title,
    undefined,
    html`<h1>${title}</h1>
      <p>${message}</p>
      ${small}`,
  );
}

function accessList({ resource, scopes }: ConsentForm["access"][number]): Html {
  return html` <p>At ${resource} it may use:</p>
    <ul>
      ${scopes.map((scope) => html`<li><code>${scope}</code></li>`)}
    </ul>`;
}

function render(title: string, target: RedirectTarget | undefined, content: Html): Page {
  const nonce = randomBytes(16).toString("base64url");
  const { markup } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        <style nonce="${nonce}">
          ${{ markup: pageStyle }}
        </style>
      </head>
      <body>
        <main>${content}</main>
      </body>
    </html> `;
  return { markup, headers: pageHeaders(nonce, target) };
}

function pageHeaders(nonce: string, target: RedirectTarget | undefined): Record<string, string> {
  const formAction = target === undefined ? "'none'" : `'self' ${target.formAction}`;
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `form-action ${formAction}`,
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
