import type { Catalog } from "./catalog/catalog.ts";
import { colliding, type ServerTable } from "./catalog/table.ts";
import type { ItemKind } from "./model/item.ts";

/**
 * Items that would stand in each other's way, at any server and under any presentation, and what helps. Reads every
 * upstream once. One that cannot be read now is met again while serving; an item that one upstream lists twice is that
 * upstream's fault alone, and withheld without standing in the way of another.
 */
export async function collisionsIn(
  catalog: Pick<Catalog, "table" | "presentationsOf">,
  servers: Iterable<string>,
): Promise<readonly string[]> {
  const wanted = [...servers].flatMap((server) =>
    [undefined, ...catalog.presentationsOf(server)].map((presentation) => ({ server, presentation })),
  );
  const tables = await Promise.all(
    wanted.map(async ({ server, presentation }) => catalog.table(server, undefined, presentation)),
  );
  return tables.flatMap(collisionsOf);
}

function collisionsOf({ server, presentation, entries }: ServerTable): readonly string[] {
  const where = presentation === undefined ? `servers.${server}` : `servers.${server}, shown as ${presentation.id}`;
  return colliding(entries).map(
    ({ item: { kind, upstream }, exposed }) =>
      `${where}: ${kind} ${exposed} of upstream ${upstream} collides; ${wayOut(kind)}`,
  );
}

/** A URI has a prefix of its own, and no other name. */
function wayOut(kind: ItemKind): string {
  const named = kind === "tool" || kind === "prompt";
  return named ? "give it a prefix, rename or hide it" : "give it a uriPrefix or hide it";
}
