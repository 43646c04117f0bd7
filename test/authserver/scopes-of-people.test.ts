import { afterEach, describe, expect, it } from "vitest";
import { permittedScopes } from "../../src/authserver/permitted-scopes.ts";
import { createBrowser } from "./browser.ts";
import {
  ada,
  authorizationUrl,
  decodeToken,
  exchange,
  obtainCode,
  refresh,
  registerPublic,
  startHarness,
} from "./harness.ts";
import type { Changes, Harness } from "./harness.ts";

let harness: Harness | undefined;

afterEach(() => harness?.close());

async function start(changes: Changes): Promise<Harness> {
  harness = await startHarness(changes);
  return harness;
}

const byGroup = (entries: Readonly<Record<string, readonly string[]>>): Map<string, readonly string[]> =>
  new Map(Object.entries(entries));

interface Case {
  readonly are: string;
  readonly groups?: readonly string[];
  readonly own?: readonly string[];
  readonly byGroups?: Readonly<Record<string, readonly string[]>>;
  readonly expected: readonly string[] | undefined;
}

const cases: readonly Case[] = [
  { are: "not confined at all", expected: undefined },
  { are: "their own", own: ["a"], expected: ["a"] },
  { are: "their own, even none", own: [], expected: [] },
  {
    are: "those of their groups",
    groups: ["g", "h"],
    byGroups: { g: ["a"], h: ["b"], i: ["c"] },
    expected: ["a", "b"],
  },
  {
    are: "both together, each once",
    groups: ["g"],
    own: ["a", "b"],
    byGroups: { g: ["b", "c"] },
    expected: ["a", "b", "c"],
  },
  { are: "those of everybody", byGroups: { "*": ["a"], g: ["b"] }, expected: ["a"] },
  { are: "none, outside of every group", groups: ["x"], byGroups: { g: ["a"] }, expected: [] },
  { are: "once those of everybody, with a group called so", groups: ["*"], byGroups: { "*": ["a"] }, expected: ["a"] },
  {
    are: "none of a group called like a member of objects",
    groups: ["constructor"],
    byGroups: { g: [] },
    expected: [],
  },
];

describe("the scopes that somebody may have", () => {
  it.each(cases)("are $are", ({ groups = [], own, byGroups, expected }) => {
    expect(permittedScopes({ groups, own }, byGroups === undefined ? undefined : byGroup(byGroups))).toEqual(expected);
  });
});

describe("a scope that somebody may not have", () => {
  const everything = { scope: "tickets:read tickets:write" };

  it.each<[string, Changes]>([
    ["by their own confinement", { users: [{ ...ada, scopes: ["tickets:read"] }] }],
    ["by their groups", { scopesByGroup: byGroup({ support: ["tickets:read"], admin: ["tickets:write"] }) }],
    ["by what everybody may", { scopesByGroup: byGroup({ "*": ["tickets:read"] }) }],
  ])("is left out of the consent page and of the token %s", async (_how, changes) => {
    const confined = await start(changes);
    const browser = createBrowser();
    const clientId = await registerPublic(confined);
    const page = await browser.open(authorizationUrl(confined, clientId, everything));
    const consent = await browser.submit(page, { username: ada.username, password: ada.password });
    expect([...consent.text.matchAll(/<code>([^<]*)/g)].map(([, scope]) => scope)).toEqual(["tickets:read"]);
    const { body } = await exchange(confined, await obtainCode(confined, everything));
    expect(body["scope"]).toBe("tickets:read");
    expect(decodeToken(body["access_token"]).claims["scope"]).toBe("tickets:read");
  });

  it("is not got by asking for it alone, in a page or in a refresh", async () => {
    const confined = await start({ users: [{ ...ada, scopes: ["tickets:read"] }] });
    const browser = createBrowser();
    const clientId = await registerPublic(confined);
    const page = await browser.open(authorizationUrl(confined, clientId, { scope: "tickets:write" }));
    const { left } = await browser.submit(page, { username: ada.username, password: ada.password });
    expect(Object.fromEntries(left?.searchParams ?? [])).toMatchObject({
      error: "access_denied",
      iss: confined.server.issuer,
      state: "st/a te",
    });
    const first = await exchange(confined, await obtainCode(confined, {}, clientId));
    const more = await refresh(confined, clientId, first.body["refresh_token"], { scope: "tickets:write" });
    expect([more.status, more.body["error"]]).toEqual([400, "invalid_scope"]);
  });

  it("is gone from the next refresh once it is taken away, and stays away from who had consented before", async () => {
    const before = await start({});
    const first = await exchange(before, await obtainCode(before, everything));
    expect(first.body["scope"]).toBe("tickets:read tickets:write");
    const clientId = String(decodeToken(first.body["access_token"]).claims["client_id"]);
    const after = await startHarness({
      publicUrl: before.server.issuer,
      records: before.records,
      users: [{ ...ada, scopes: ["tickets:read"] }],
    });
    const { body } = await refresh(after, clientId, first.body["refresh_token"]);
    expect(body["scope"]).toBe("tickets:read");
    await after.close();
  });

  it("confines nobody else: who is not confined may have every scope", async () => {
    const confined = await start({ users: [ada, { ...ada, username: "eve", subject: "u-eve", scopes: [] }] });
    expect((await exchange(confined, await obtainCode(confined, everything))).body["scope"]).toBe(everything.scope);
  });
});
