import { refuse } from "../model/refusal.ts";
import type { Refused, Result } from "../model/result.ts";
import { sendPage } from "../web/page.ts";
import type { LinkOwner } from "./links.ts";
import { consentPage, donePage, goOnPage } from "./pages.ts";
import { paths } from "./paths.ts";
import type { GrantDescription, UserGrants } from "./port.ts";
import { isOver, sendRefusal } from "./visit.ts";
import type { ConnectRoom, OwnVisit } from "./visit.ts";

/** What a page about one upstream is about, once it is known to be this person's. */
interface Matter {
  readonly grants: UserGrants;
  readonly upstream: { readonly name: string; readonly title: string };
  readonly grant: GrantDescription;
  /** Empty without a link. */
  readonly link: string;
  /** Empty where the person came without a link, or their client has no id. */
  readonly clientId: string;
}

/** Shows which client asks for which upstream, with which scopes, at which authorization server. */
export async function showConsent(room: ConnectRoom, visit: OwnVisit, upstream: string): Promise<void> {
  const matter = await matterOf(room, visit, { upstream, link: visit.url.searchParams.get("link") ?? "" });
  if ("refusal" in matter) {
    sendRefusal(room, visit, matter.refusal, visit.browser);
    return;
  }
  const { link, clientId } = matter;
  const client = clientId === "" ? undefined : await nameOf(room, clientId);
  const view = { token: visit.browser.formToken, who: visit.who, link, client };
  sendPage(visit.res, 200, consentPage({ ...view, upstream: matter.upstream, grant: matter.grant }));
}

/**
 * Takes the consent. A grant that is there and good is opened to the client; otherwise the browser goes on to the
 * upstream's authorization server, and what came of it is taken in this browser's session alone.
 */
export async function takeConsent(
  room: ConnectRoom,
  visit: OwnVisit,
  about: { readonly upstream: string; readonly fields: URLSearchParams },
): Promise<void> {
  const matter = await matterOf(room, visit, { ...about, link: about.fields.get("link") ?? "" });
  if ("refusal" in matter) sendRefusal(room, visit, matter.refusal, visit.browser);
  else if (about.fields.get("action") !== "go")
    sendPage(visit.res, 200, donePage("Nothing was changed", "You can close this page."));
  else if (isGood(matter.grant)) await openToClient(room, visit, matter);
  else await beginGrant(room, visit, matter);
}

/**
 * Where an upstream's authorization server sends the browser back to. Of several that a browser has begun, the state says
 * which this is; an answer with another leaves all of them where they are: any page can send the browser here.
 */
export async function finishGrant(room: ConnectRoom, visit: OwnVisit): Promise<void> {
  const [state = "", ...more] = visit.url.searchParams.getAll("state");
  const attempt = more.length === 0 ? await room.sessions.take(visit.browser, state) : undefined;
  if (attempt === undefined || room.grants === undefined) {
    sendRefusal(room, visit, refuse("CONNECT_ATTEMPT_LOST", { what: "grant" }).refusal, visit.browser);
    return;
  }
  const { person } = visit.who;
  const finished = await room.grants.finish({ person, attempt, params: visit.url.searchParams });
  if (!finished.ok) {
    sendRefusal(room, visit, finished.refusal);
    return;
  }
  const { upstream } = finished.value;
  // Whoever was put out while the code was exchanged: what ends grants may have come before this one was there.
  if (await isOver(room, person, visit.browser.since)) {
    await room.grants.revoke(person, upstream);
    sendRefusal(room, visit, refuse("SIGNIN_DENIED", { ...person }).refusal);
    return;
  }
  room.log("connect.granted", { ...person, upstream });
  sendPage(visit.res, 200, donePage("Connected", "You can close this page and go back to your application."));
}

/** Ends a grant here, and at the provider where that is offered. */
export async function revokeGrant(room: ConnectRoom, visit: OwnVisit, upstream: string): Promise<void> {
  const { grants } = room;
  const known = grants?.upstreams().find(({ name }) => name === upstream);
  if (grants === undefined || known === undefined) {
    sendRefusal(room, visit, refuse("CONNECT_LINK_INVALID", { reason: "no such upstream" }).refusal, visit.browser);
    return;
  }
  const revoked = await grants.revoke(visit.who.person, upstream);
  if (!revoked.ok) {
    sendRefusal(room, visit, revoked.refusal);
    return;
  }
  const { revokedAtProvider } = revoked.value;
  room.log("connect.revoked", { ...visit.who.person, upstream, revokedAtProvider });
  const there = revokedAtProvider
    ? "It was ended at the service too."
    : "The service was not told: it does not offer that, or could not be reached. You can end it in your account there.";
  sendPage(visit.res, 200, donePage("Revoked", `This gateway uses ${known.title} for you no longer. ${there}`));
}

/** What a client is known by: its own name and the id that nobody chooses, or the id alone. */
export async function nameOf({ clientName }: ConnectRoom, clientId: string): Promise<string> {
  const name = await clientName(clientId);
  return name === undefined ? clientId : `${name} (${clientId})`;
}

async function openToClient(room: ConnectRoom, visit: OwnVisit, matter: Matter): Promise<void> {
  const { person } = visit.who;
  const upstream = matter.upstream.name;
  if (matter.clientId !== "") {
    const consented = await matter.grants.consent(person, matter.clientId, upstream);
    if (!consented.ok) {
      sendRefusal(room, visit, consented.refusal);
      return;
    }
    room.log("connect.consented", { ...person, upstream, clientId: matter.clientId });
  }
  sendPage(visit.res, 200, donePage("Connected", "You can close this page and go back to your application."));
}

async function beginGrant(room: ConnectRoom, visit: OwnVisit, matter: Matter): Promise<void> {
  const begun = await matter.grants.begin({
    person: visit.who.person,
    clientId: matter.clientId,
    upstream: matter.upstream.name,
    redirectUri: `${room.publicUrl}${paths.granted}`,
  });
  if (!begun.ok) {
    sendRefusal(room, visit, begun.refusal);
    return;
  }
  const { url, attempt, state } = begun.value;
  await room.sessions.keep(visit.browser, state, attempt);
  sendPage(visit.res, 200, goOnPage(url));
}

/**
 * The link must be this very person's (403 for anybody else). Without a link the person comes by themselves, to what
 * policy shows them or where they have a grant: of other upstreams nobody is told that they are there.
 */
async function matterOf(
  room: ConnectRoom,
  { who }: OwnVisit,
  about: { readonly upstream: string; readonly link: string },
): Promise<Matter | Refused> {
  const { grants } = room;
  const upstream = grants?.upstreams().find(({ name }) => name === about.upstream);
  if (grants === undefined || upstream === undefined)
    return refuse("CONNECT_LINK_INVALID", { reason: "no such upstream" });
  const owner = about.link === "" ? undefined : room.links.open(about.link, upstream.name);
  if (about.link !== "" && owner === undefined) return refuse("CONNECT_LINK_INVALID", { upstream: upstream.name });
  if (owner !== undefined && !isSame(owner, who.person))
    return refuse("CONNECT_NOT_YOURS", { upstream: upstream.name, opener: who.person.subject, owner: owner.subject });
  const described = await describedTo(room, who, { grants, upstream: upstream.name, isLinked: owner !== undefined });
  if (!described.ok) return described;
  return { grants, upstream, grant: described.value, link: about.link, clientId: owner?.clientId ?? "" };
}

async function describedTo(
  room: ConnectRoom,
  who: OwnVisit["who"],
  of: { readonly grants: UserGrants; readonly upstream: string; readonly isLinked: boolean },
): Promise<Result<GrantDescription>> {
  const described = await of.grants.describe(who.person, of.upstream);
  if (of.isLinked || (described.ok && described.value.connected)) return described;
  const isShown = (await room.reach(who)).upstreams.has(of.upstream);
  return isShown ? described : refuse("CONNECT_LINK_INVALID", { reason: "no such upstream" });
}

function isSame(owner: LinkOwner, person: OwnVisit["who"]["person"]): boolean {
  return owner.tenant === person.tenant && owner.issuer === person.issuer && owner.subject === person.subject;
}

/** A grant with a reason is there and has to be given again all the same: a scope is missing. */
function isGood({ connected, reason }: GrantDescription): boolean {
  return connected && reason === undefined;
}
