// A deny on a URI must hold however a lenient upstream may come to read that URI, and under every prefix.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { legacyCall, openSession } from "../journey/wire-client.ts";
import { startListingUpstream } from "./listing-upstream.ts";
import type { ListingUpstream } from "./listing-upstream.ts";

let files: ListingUpstream;
let records: ListingUpstream;
let anything: ListingUpstream;
let gateway: GatewayUnderTest;

const deny = (id: string, resource: string): Record<string, unknown> => ({
  id,
  effect: "deny",
  who: { anyone: true },
  what: { upstream: "files", resource },
});

beforeAll(async () => {
  files = await startListingUpstream({
    resourceTemplates: [
      { uriTemplate: "file:///{+path}", name: "any" },
      { uriTemplate: "notes:///docs/{name}", name: "note" },
    ],
  });
  records = await startListingUpstream({ resourceTemplates: [{ uriTemplate: "crm://c/{id}", name: "customer" }] });
  anything = await startListingUpstream({ resourceTemplates: [{ uriTemplate: "{+all}", name: "anything" }] });
  gateway = await startGatewayUnderTest({
    upstreams: { files: files.url, records: records.url, anything: anything.url },
    servers: {},
    rules: [
      { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } },
      deny("secret", "file:///secret/**"),
      deny("passwords", "file:///etc/passwd"),
      deny("one-level", "file:///one/*"),
    ],
    config: {
      servers: {
        plain: { upstreams: { files: {} } },
        prefixed: { upstreams: { files: { uriPrefix: "mine+" } } },
        both: { upstreams: { anything: {}, records: {} } },
      },
    },
  });
});
afterAll(async () => {
  await gateway.remove();
  await Promise.all([files.close(), records.close(), anything.close()]);
});

/** The refusal, or undefined for a URI that was read. */
async function refusalOf(server: string, uri: string): Promise<unknown> {
  const caller = await openSession({ gateway, server });
  const { json } = await legacyCall(caller, "resources/read", { uri });
  const error = json["error"] as { data?: { refusal?: string } } | undefined;
  return error?.data?.refusal;
}

describe.each([
  ["plain", ""],
  ["prefixed", "mine+"],
])("in the server %s a denied URI stays denied", (server, prefix) => {
  it.each([
    "file:///secret/x",
    "file:////secret/x",
    "file:///secret//x",
    "file:///./secret/x",
    "file:///a/%2e%2e/secret/x",
    "file:///secret\\x",
    "file:///etc/passwd",
    "file:///etc//passwd",
    "file:///etc/passwd?",
    "file:///etc/passwd?x=/y",
    "file:///etc/passwd#a",
    "file:///etc/passwd%3Fa",
    "file:///etc/passwd/",
    "file:///etc/passwd ",
    "file:///et\tc/passwd",
    "file:///etc/passwd\u0000.txt",
    "file:///etc/passwd%00.txt",
    "file:///one/x?a/b",
    "file:///one/x#/b",
    "file:///one/x/",
  ])("spelled %j", async (uri) => {
    expect(await refusalOf(server, prefix + uri)).toBe("POLICY_DENIED");
  });

  it.each(["file:///public/x", "file:///secrets", "file:///etc/passwd2", "file:///one/two/three", "file:///a?b#c"])(
    "and %j stays readable",
    async (uri) => {
      expect(await refusalOf(server, prefix + uri)).toBeUndefined();
      expect(files.read.at(-1)).toBe(uri);
    },
  );
});

describe("a template vouches for its own URIs alone", () => {
  it.each(["notes:///docs/..%2F..%2Fetc", "notes:///docs/..", "notes:///docs/..%5Cx", "notes:///docs/%252e%252e"])(
    "%s is unknown: resolved, it lies elsewhere",
    async (uri) => {
      const before = files.read.length;
      expect(await refusalOf("plain", uri)).toBe("ITEM_UNKNOWN");
      expect(files.read).toHaveLength(before);
    },
  );

  it.each(["notes:///docs/a", "notes:///docs/a%2Fb", "notes:///docs/..a", "file:///a/../b"])(
    "%s is read",
    async (uri) => {
      expect(await refusalOf("plain", uri)).toBeUndefined();
    },
  );

  it("and a URI that templates of two upstreams match is read from neither", async () => {
    expect(await refusalOf("both", "crm://c/42")).toBe("CATALOG_ITEM_COLLIDED");
    expect([...records.read, ...anything.read]).toEqual([]);
    expect(await refusalOf("both", "other://x")).toBeUndefined();
  });
});
