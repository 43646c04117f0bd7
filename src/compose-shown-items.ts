import { shape } from "./catalog/shape.ts";
import { serverShapes } from "./compose-shapes.ts";
import type { ShownItemsOf } from "./cli/policy-items.ts";
import type { Config } from "./config/types.ts";

/**
 * What each server would take of items that are known without asking an upstream, under the names that it gives them
 * where no presentation renames them. Throws `StartRefused` where that cannot be told.
 */
export function shownItems(config: Config): ShownItemsOf {
  const shapes = new Map(serverShapes(config).map((one) => [one.name, one]));
  return (server, items) =>
    items.flatMap((item) => {
      const part = shapes.get(server)?.upstreams.find(({ upstream }) => upstream === item.upstream);
      const { definition } = item;
      if (part === undefined) return [];
      const found = shape(part, { ...item, digest: "", shown: definition, findings: [], withheld: undefined });
      return found === undefined ? [] : [{ exposed: found.name, item }];
    });
}
