import { html } from "../web/html.ts";
import type { Html } from "../web/html.ts";
import { renderPage } from "../web/page.ts";
import type { Page } from "../web/page.ts";
import { passwordFields, problemNote } from "../web/password-fields.ts";
import type { RedirectTarget } from "./redirects.ts";

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
  /** Who says what the client is called. */
  readonly origin:
    | { readonly kind: "configured" }
    | { readonly kind: "itself" }
    | { readonly kind: "document"; readonly host: string };
  readonly access: readonly { readonly resource: string; readonly scopes: readonly string[] }[];
}

export function signInPage(form: SignInForm): Page {
  return render(
    "Sign in",
    form.target,
    html` <h1>Sign in</h1>
      <p>to continue to <strong>${form.clientName}</strong></p>
      ${problemNote(form.problem)}
      <form method="post" action="${form.action}">
        <input type="hidden" name="token" value="${form.token}" />
        ${passwordFields(form.username)}
        <div class="choices">
          <button name="action" value="go">Sign in</button>
          <button name="action" value="cancel" class="quiet" formnovalidate>Cancel</button>
        </div>
      </form>`,
  );
}

export function consentPage(form: ConsentForm): Page {
  return render(
    "Allow access",
    form.target,
    html` <h1>Allow access?</h1>
      <p><strong>${form.clientName}</strong> asks to act for you, ${form.userName}.</p>
      ${form.access.map(accessList)}
      <p>Afterwards you return to <strong>${form.target.label}</strong>.</p>
      ${caution(form.origin)}
      <form method="post" action="${form.action}">
        <input type="hidden" name="token" value="${form.token}" />
        <div class="choices">
          <button name="action" value="go">Allow</button>
          <button name="action" value="cancel" class="quiet">Deny</button>
        </div>
      </form>`,
  );
}

/** A name that nobody vouches for is no reason to go on; the host of its document says a little more. */
function caution(origin: ConsentForm["origin"]): Html {
  if (origin.kind === "configured") return html``;
  const said =
    origin.kind === "itself"
      ? html`This application chose its own name.`
      : html`<strong>${origin.host}</strong> says that this is what the application is called.`;
  return html`<p class="caution">${said} Go on only if you started this sign-in yourself.</p>`;
}

function accessList({ resource, scopes }: ConsentForm["access"][number]): Html {
  return html` <p>At ${resource} it may use:</p>
    <ul>
      ${scopes.map((scope) => html`<li><code>${scope}</code></li>`)}
    </ul>`;
}

function render(title: string, target: RedirectTarget, content: Html): Page {
  return renderPage({ title, content, formAction: ["'self'", target.formAction] });
}
