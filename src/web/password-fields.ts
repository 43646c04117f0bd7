import { html } from "./html.ts";
import type { Html } from "./html.ts";

/** The two fields of a sign-in form, as password managers know them (HTML, "Autofill"). */
export function passwordFields(username: string): Html {
  return html`<label for="username">User name</label>
    <input
      id="username"
      name="username"
      value="${username}"
      autocomplete="username"
      autocapitalize="none"
      spellcheck="false"
      required
      autofocus
    />
    <label for="password">Password</label>
    <input id="password" name="password" type="password" autocomplete="current-password" required />`;
}

/** Why the last attempt did not succeed; nothing without a reason. */
export function problemNote(problem: string | undefined): Html {
  return problem === undefined ? html`` : html`<p class="problem" role="alert">${problem}</p>`;
}
