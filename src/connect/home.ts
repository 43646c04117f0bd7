import { sendPage } from "../web/page.ts";
import { nameOf } from "./own-grants.ts";
import { homePage } from "./pages.ts";
import type { Connection } from "./pages.ts";
import type { Person, UserGrants } from "./port.ts";
import type { ConnectRoom, OwnVisit } from "./visit.ts";

/** Who one is here, one's grants at the upstreams that one may use, and how to connect clients. */
export async function showHome(room: ConnectRoom, { res, browser, who }: OwnVisit): Promise<void> {
  const { servers, upstreams } = await room.reach(who);
  const all = room.grants === undefined ? [] : await connectionsOf(room, room.grants, who.person);
  // A grant stays revocable by its owner after policy has taken the upstream away.
  const connections = all.filter(({ name, grant }) => upstreams.has(name) || grant?.connected === true);
  sendPage(res, 200, homePage({ token: browser.formToken, who, connections, servers }));
}

function connectionsOf(room: ConnectRoom, grants: UserGrants, person: Person): Promise<readonly Connection[]> {
  return Promise.all(
    grants.upstreams().map(async ({ name, title }) => {
      const described = await grants.describe(person, name);
      const grant = described.ok ? described.value : undefined;
      const clients = await Promise.all((grant?.clients ?? []).map((clientId) => nameOf(room, clientId)));
      return { name, title, grant, clients };
    }),
  );
}
