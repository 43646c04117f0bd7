import type { GrantDesk, ListedGrant } from "./cli/grant.ts";
import { openCommandStore, silent } from "./compose-command-store.ts";
import { grantsOptions } from "./compose-grants.ts";
import type { Config } from "./config/types.ts";
import { writeChange } from "./gateway/connections/change.ts";
import { writeGrantChange } from "./gateway/crossing-grant.ts";
import type { Courier } from "./model/courier.ts";
import type { Subject } from "./model/principal.ts";
import type { Result } from "./model/result.ts";
import { createGrantBook, type GrantBook, type Held } from "./upstream/grants/grant-book.ts";
import type { GrantChange } from "./upstream/grants/port.ts";
import { createGrants, type Grants } from "./upstream/grants/user-grants.ts";

/** What the commands about grants work with. They have looked whether the store is shared and an upstream takes grants. */
export async function openGrantDesk(config: Config): Promise<GrantDesk> {
  const { store, courier, close } = await openCommandStore(config);
  const done: GrantChange[] = [];
  const witness = { changed: (change: GrantChange) => void done.push(change), quarantined: nothing };
  const options = grantsOptions({ config, store, log: silent, witness });
  const desk = { book: createGrantBook(options), grants: createGrants(options), done };
  return {
    list: (who) => list(desk, who),
    assign: (from, to, of) => assign(desk, { from, to, ...of }),
    admit: (who, clientId, upstream) => desk.grants.pages.consent(who, clientId, upstream),
    revoke: (who, upstream) => revoke(desk, who, upstream),
    tell: (ref) => tell(courier, done.splice(0), ref),
    close,
  };
}

const nothing = (): void => undefined;

interface Desk {
  readonly book: GrantBook;
  readonly grants: Grants;
  /** What the replicas are still to be told. */
  readonly done: GrantChange[];
}

async function list({ book }: Pick<Desk, "book">, who: Subject): Promise<readonly ListedGrant[]> {
  const names = await book.namesOf(who);
  const held = await Promise.all(names.map((name) => book.read(name)));
  return held.flatMap((one) => (one === undefined ? [] : [listed(one)]));
}

function listed({ name: { upstream, issuer }, grant }: Held): ListedGrant {
  const { scopes, since, consented: clients, tokens, reason } = grant;
  return { upstream, issuer, scopes, since, clients, isUsable: tokens !== undefined, reason };
}

/** Whose grant it was has none any more, which is a fact of its own. */
async function assign(
  { grants, done }: Desk,
  of: { readonly from: Subject; readonly to: Subject; readonly upstream: string; readonly clientId: string },
): Promise<Result<void>> {
  const moved = await grants.pages.assign(of.from, of.to, of);
  const assigned = done.at(-1);
  if (moved.ok && assigned !== undefined)
    done.push({ ...assigned, did: "revoked", person: of.from, clientId: "", reason: "assigned" });
  return moved;
}

/** That of the authorization server of now, and what is left of former ones, which nobody can be asked about. */
async function revoke({ book, grants, done }: Desk, who: Subject, upstream: string): Promise<boolean> {
  const revoked = await grants.pages.revoke(who, upstream);
  for (const name of await book.namesOf(who)) {
    const left = name.upstream === upstream ? await book.take(name) : undefined;
    if (left !== undefined) done.push({ did: "revoked", ...name, scopes: left.scopes, clientId: "" });
  }
  return revoked.ok && revoked.value.revokedAtProvider;
}

/** As pages tell it, so that calls which wait for a grant, and lists that were read with it, are looked at anew. */
async function tell(courier: Courier, changes: readonly GrantChange[], ref: string): Promise<void> {
  for (const change of changes) {
    await courier.broadcast("grant", writeGrantChange({ change, ref }));
    await courier.broadcast("connection", writeChange(change));
  }
}
