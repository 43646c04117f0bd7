import type { LookupAddress } from "node:dns";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchDials } from "../setup/dials.ts";
import type { Dials } from "../setup/dials.ts";
import { discovering, meetClientDocument, meetClientKeys } from "./discovering.ts";

type Answer = (fault: Error | null, addresses: readonly LookupAddress[]) => void;

/** The name server: by name, what it answers first, second and so on; its last answer stays. */
const names = new Map<string, (readonly string[])[]>();
const looked: string[] = [];

vi.mock("node:dns", async (original) => ({
  ...(await original<Record<string, unknown>>()),
  lookup: (hostname: string, _options: unknown, answer: Answer) => {
    looked.push(hostname);
    const answers = names.get(hostname) ?? [["127.0.0.1"]];
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    answer(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  },
}));

let dials: Dials;

beforeEach(() => {
  names.clear();
  looked.splice(0);
  names.set("inside.test", [["10.0.0.8"]]);
  names.set("link-local.test", [["169.254.169.254"]]);
  names.set("half.test", [["127.0.0.1", "10.0.0.8"]]);
  names.set("changing.test", [["127.0.0.1"], ["10.0.0.8"]]);
  names.set("this-machine.test", [["127.0.0.1"]]);
  names.set("changing-back.test", [["10.0.0.8"], ["127.0.0.1"]]);
  dials = watchDials();
});

const beyondThisMachine = (): readonly string[] =>
  dials.addresses.filter((address) => !address.startsWith("127.0.0.1:"));

const servers: Server[] = [];

afterEach(() => {
  dials.stop();
  for (const server of servers.splice(0)) server.closeAllConnections();
});

const inside = [
  ["link-local", "https://169.254.169.254/latest/meta-data"],
  ["link-local, in clear", "http://169.254.169.254/latest/meta-data"],
  ["a cloud's metadata over IPv6", "https://[fd00:ec2::254]/latest"],
  ["private", "https://10.0.0.8/x"],
  ["private, mapped into IPv6", "https://[::ffff:10.0.0.8]/x"],
  ["private, as one number", "https://167772168/x"],
  ["private, by name", "https://inside.test/x"],
  ["link-local, by name", "https://link-local.test/x"],
  ["private, by one of a name's addresses", "https://half.test/x"],
  ["private, by a name's second answer", "https://changing.test/x"],
  ["private, by a name's first answer", "https://changing-back.test/x"],
] as const;

/** A refusal, or the page that says that somebody could not be signed in. */
const refused =
  /^(?:AUTH_ISSUER_UNAVAILABLE|UPSTREAM_\w+|temporarily_unavailable|Sign-in is not available|.*cannot be.*)$/;

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each(discovering)("the URL that is discovered for %s", (_place, meet) => {
  it.each(inside)("leads nowhere when it is %s", async (_kind, url) => {
    const { came, asked } = await meet(url, { addresses: "loopback" });
    expect(came).toMatch(refused);
    expect(asked).toBeGreaterThan(0);
    expect(beyondThisMachine()).toEqual([]);
    const { hostname } = new URL(url);
    if (hostname.endsWith(".test")) expect(looked).toContain(hostname);
  });

  it("leads to where it says, and no further by a redirect", async () => {
    const beyond: string[] = [];
    const target = await listen(createServer((req, res) => void (beyond.push(req.url ?? ""), res.end("{}"))));
    const moved: string[] = [];
    const first = await listen(
      createServer((req, res) => {
        moved.push(req.url ?? "");
        res.writeHead(302, { location: `${target}/inside` }).end();
      }),
    );
    expect((await meet(`${first}/moved`, { addresses: "loopback" })).came).toMatch(refused);
    expect(moved.length).toBeGreaterThan(0);
    expect(beyond).toEqual([]);
  });

  it.each(["public", "private"] as const)(
    "is not even read on this machine where %s addresses are allowed",
    async (addresses) => {
      const { came } = await meet("https://public.test/x", { at: "https://this-machine.test:9", addresses });
      expect(came).toMatch(refused);
      expect(looked).toContain("this-machine.test");
      expect(dials.addresses).not.toContain("127.0.0.1:9");
    },
  );
});

const strangers = [
  ...inside.filter(([, url]) => url.startsWith("https:")),
  ["this machine", "https://127.0.0.1:9/x"],
  ["this machine, by name", "https://localhost:9/x"],
  ["this machine, over IPv6", "https://[::1]:9/x"],
] as const;

describe("the URL that a stranger names", () => {
  beforeEach(() => {
    // The first answer would be dialled if it were public, and nothing in public is dialled here.
    names.set("changing.test", [["10.0.0.8"], ["127.0.0.1"]]);
    names.set("localhost", [["127.0.0.1"]]);
  });

  const nothingWasDialled = (url: string): void => {
    expect([beyondThisMachine(), dials.addresses.filter((address) => address.endsWith(":9"))]).toEqual([[], []]);
    const { hostname } = new URL(url);
    if (/^[a-z]/.test(hostname)) expect(looked).toContain(hostname);
  };

  it.each(strangers)("as its client's metadata document leads nowhere when it is %s", async (_kind, url) => {
    expect(await meetClientDocument(url)).toBe("This request cannot be answered");
    nothingWasDialled(url);
  });

  it.each(strangers)("as the keys of its client leads nowhere when it is %s", async (_kind, url) => {
    const { came, asked } = await meetClientKeys(url);
    expect(["invalid_client", "temporarily_unavailable"]).toContain(came);
    expect(asked.map((one) => new URL(one).href)).toContain(new URL(url).href);
    nothingWasDialled(url);
  });

  it("as the keys of its client is not asked for in clear", async () => {
    const { came, asked } = await meetClientKeys("http://client.test/keys");
    expect([came, asked]).toEqual(["invalid_client", ["https://client.test/client.json"]]);
  });
});
