import { html } from "../web/html.ts";
import type { Html } from "../web/html.ts";
import { renderPage } from "../web/page.ts";
import type { Page } from "../web/page.ts";
import { passwordFields, problemNote } from "../web/password-fields.ts";
import { howTo } from "./how-to.ts";
import { paths, upstreamPath } from "./paths.ts";
import type { GrantDescription, Reach, SignedIn, SignInWay } from "./port.ts";

const ownForms = ["'self'"];

export interface SignInView {
  readonly token: string;
  readonly ways: readonly SignInWay[];
  /** The page to go on with. */
  readonly target: string;
  readonly username: string;
  readonly problem: string | undefined;
}

export function signInPage(view: SignInView): Page {
  const content = html`<h1>Sign in</h1>
    <p>to see and change what this gateway may do for you</p>
    ${problemNote(view.problem)}
    ${view.ways.map((way) => (way.kind === "password" ? passwordForm(way, view) : providerLink(way, view)))}`;
  return renderPage({ title: "Sign in", content, formAction: ownForms });
}

function passwordForm(way: SignInWay, view: SignInView): Html {
  return html`<form method="post" action="${paths.signIn}">
    ${hidden({ token: view.token, way: way.id, target: view.target })} ${passwordFields(view.username)}
    <div class="choices"><button>Sign in</button></div>
  </form>`;
}

/** A link and no form: the provider's redirects would have to be allowed as targets of the form, one by one. */
function providerLink(way: SignInWay, view: SignInView): Html {
  const query = new URLSearchParams({ way: way.id, target: view.target });
  return html`<p><a class="go" href="${paths.signIn}?${query.toString()}">Sign in with ${way.label}</a></p>`;
}

/** One upstream that the person may use, and what is known of their grant there. */
export interface Connection {
  readonly name: string;
  readonly title: string;
  /** Undefined: nobody can tell at the moment. */
  readonly grant: GrantDescription | undefined;
  /** The clients of the grant by the names that they are known by. */
  readonly clients: readonly string[];
}

export interface HomeView {
  readonly token: string;
  readonly who: SignedIn;
  readonly connections: readonly Connection[];
  readonly servers: Reach["servers"];
}

export function homePage({ token, who, connections, servers }: HomeView): Page {
  const content = html`<h1>Your connections</h1>
    <p>You are <strong>${who.name}</strong>, signed in at ${who.person.issuer}.</p>
    <p>${who.groups.length === 0 ? "You are in no groups." : `Your groups: ${who.groups.join(", ")}.`}</p>
    <form method="post" action="${paths.signOut}">
      ${hidden({ token })}
      <div class="choices"><button class="quiet">Sign out</button></div>
    </form>
    <h2>Services used on your behalf</h2>
    ${connections.length === 0 ? html`<p>There are none that need a connection of yours.</p>` : html``}
    ${connections.map((connection) => connectionCard(connection, token))}
    <h2>Connect an application</h2>
    ${servers.length === 0 ? html`<p>There is no server that you may use.</p>` : html``} ${servers.map(serverCard)}`;
  return renderPage({ title: "Your connections", content, formAction: ownForms, wide: true });
}

function connectionCard({ name, title, grant, clients }: Connection, token: string): Html {
  const revoke = html`<form method="post" action="${paths.revoke}">
    ${hidden({ token, upstream: name })}
    <div class="choices"><button class="quiet" aria-label="Revoke ${title}">Revoke</button></div>
  </form>`;
  const connect = html`<p><a class="go" href="${upstreamPath(name)}">Connect ${title}</a></p>`;
  const state = grant === undefined ? html`<p>This cannot be told at the moment.</p>` : connectionState(grant, clients);
  return html`<section class="card">
    <h3>${title}</h3>
    ${state} ${grant?.connected === true && grant.reason === undefined ? html`` : connect}
    ${grant?.connected === true ? revoke : html``}
  </section>`;
}

function connectionState(grant: GrantDescription, clients: readonly string[]): Html {
  if (!grant.connected)
    return html`<p>Not connected.${grant.reason === undefined ? "" : ` It was, until: ${grant.reason}.`}</p>`;
  const since = grant.since === undefined ? "" : ` since ${new Date(grant.since).toISOString().slice(0, 10)}`;
  const again = grant.reason === undefined ? html`` : html`<p>It has to be given again: ${grant.reason}.</p>`;
  return html`<p>Connected${since} at ${grant.issuer}.</p>
    ${again}
    <p>${grant.scopes.length === 0 ? "No scopes are named." : `Scopes: ${grant.scopes.join(", ")}.`}</p>
    <p>${clients.length === 0 ? "No application may use it yet." : `Used by: ${clients.join(", ")}.`}</p>`;
}

function serverCard(server: Reach["servers"][number]): Html {
  return html`<section class="card">
    <h3>${server.title}</h3>
    <p><code>${server.url}</code></p>
    ${howTo(server).map(
      ({ client, steps, text }) =>
        html`<details>
          <summary>${client}</summary>
          <p>${steps}</p>
          <pre tabindex="0"><code>${text}</code></pre>
        </details>`,
    )}
  </section>`;
}

export interface ConsentView {
  readonly token: string;
  readonly who: SignedIn;
  readonly upstream: { readonly name: string; readonly title: string };
  readonly grant: GrantDescription;
  /** The handle that led here, empty without one. */
  readonly link: string;
  /** Which client asks; undefined: the person came by themselves. */
  readonly client: string | undefined;
}

export function consentPage(view: ConsentView): Page {
  const { upstream, grant, client } = view;
  const asks =
    client === undefined
      ? html`<p>You connect <strong>${upstream.title}</strong> to this gateway.</p>`
      : html`<p>The application <strong>${client}</strong> asks to use <strong>${upstream.title}</strong> for you.</p>`;
  const next = grant.connected
    ? html`<p>You are connected already; this lets the application use it too.</p>`
    : html`<p>Next you allow it at <strong>${grant.issuer}</strong>.</p>`;
  const content = html`<h1>Connect ${upstream.title}?</h1>
    <p>You are <strong>${view.who.name}</strong>.</p>
    ${asks}
    ${
      grant.scopes.length === 0
        ? html`<p>It names no scopes.</p>`
        : html`<p>Scopes:</p>
            ${scopeList(grant.scopes)}`
    }
    ${next}
    <p class="caution">Go on only if you started this yourself.</p>
    <form method="post" action="${upstreamPath(upstream.name)}">
      ${hidden({ token: view.token, link: view.link })}
      <div class="choices">
        <button name="action" value="go">${grant.connected ? "Allow" : "Connect"}</button>
        <button name="action" value="cancel" class="quiet">Cancel</button>
      </div>
    </form>`;
  return renderPage({ title: `Connect ${upstream.title}`, content, formAction: ownForms });
}

function scopeList(scopes: readonly string[]): Html {
  return html`<ul>
    ${scopes.map((scope) => html`<li><code>${scope}</code></li>`)}
  </ul>`;
}

/** Leads to the upstream's authorization server by a navigation of its own, since `form-action` binds redirects of forms. */
export function goOnPage(url: string): Page {
  const content = html`<h1>One moment</h1>
    <p>You go on at <strong>${new URL(url).host}</strong>.</p>
    <p><a class="go" href="${url}">Continue</a></p>`;
  return renderPage({ title: "One moment", content, formAction: [], goOn: url });
}

/** Says what came of it, and leads back to the connections. */
export function donePage(title: string, message: string): Page {
  const content = html`<h1>${title}</h1>
    <p role="status">${message}</p>
    <p><a class="go" href="${paths.home}">Your connections</a></p>`;
  return renderPage({ title, content, formAction: [] });
}

export interface RefusalView {
  readonly title: string;
  readonly text: string;
  readonly ref: string;
  /** Of somebody who is signed in and may have to be somebody else. */
  readonly signOutToken: string | undefined;
}

export function refusalPage({ title, text, ref, signOutToken }: RefusalView): Page {
  const signOut =
    signOutToken === undefined
      ? html``
      : html`<form method="post" action="${paths.signOut}">
          ${hidden({ token: signOutToken })}
          <div class="choices"><button class="quiet">Sign out</button></div>
        </form>`;
  const content = html`<h1>${title}</h1>
    <p>${text}</p>
    <p class="detail">Reference ${ref}</p>
    ${signOut}`;
  return renderPage({ title, content, formAction: signOutToken === undefined ? [] : ownForms });
}

function hidden(fields: Readonly<Record<string, string>>): readonly Html[] {
  return Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
}
