import { describe, expect, it } from "vitest";
import { loadPresentations, type ReadPresentations } from "../../src/cli/load-presentations.ts";
import { changed, loadText } from "../config/load-text.ts";
import { principal } from "../policy/given.ts";

function read(...presentations: readonly object[]): ReadPresentations {
  const loaded = loadText(changed(["servers.support.presentations", presentations]));
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loadPresentations(loaded.config);
}

describe("presentations", () => {
  it("are tried by rank, and by id where ranks are the same, in whatever order they are written", () => {
    const who = { anyone: true };
    const loaded = read({ id: "c", who, rank: 5 }, { id: "b", who }, { id: "a", who }, { id: "d", who, rank: 200 });
    const ids = loaded.ok ? loaded.byServer.get("support")?.map(({ config }) => config.id) : [];
    expect(ids).toEqual(["c", "a", "b", "d"]);
  });

  it("are for whom their `who` says, as that of a rule would", () => {
    const loaded = read({ id: "a", who: { groups: { all: ["corp:one", "corp:two"] } } });
    const [one] = loaded.ok ? (loaded.byServer.get("support") ?? []) : [];
    expect(one?.matches({ ...principal(), groups: ["corp:one", "corp:two"] })).toBe(true);
    expect(one?.matches({ ...principal(), groups: ["corp:one"] })).toBe(false);
  });

  it("that name what is not configured are faults, each with its place", () => {
    const loaded = read({ id: "a", who: { groups: ["crop:one"] } }, { id: "b", who: { issuer: "crop" } });
    expect(loaded.ok ? [] : loaded.faults.map(({ path }) => path)).toEqual([
      "servers.support.presentations[0].who.groups",
      "servers.support.presentations[1].who.issuer",
    ]);
  });

  it("warn where two issuers may mean different people, and not of scopes, which deny nobody here", () => {
    const loaded = read({ id: "a", who: { subject: "ada", scopes: ["crm:read"] } });
    expect(loaded.ok ? loaded.warnings.map(({ path }) => path) : []).toEqual([
      "servers.support.presentations[0].who.subject",
    ]);
  });
});
