import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { addressKind, mayDial } from "../../src/upstream/address-rules.ts";
import { createGuardedFetch } from "../../src/upstream/egress.ts";
import { EgressRefused } from "../../src/upstream/guarded-connect.ts";
import type { ResolveName } from "../../src/upstream/guarded-connect.ts";
import type { Addresses } from "../../src/upstream/options.ts";

describe("what an address is", () => {
  it.each([
    ["8.8.8.8", "public"],
    ["172.15.255.255", "public"],
    ["172.32.0.0", "public"],
    ["2606:4700::1111", "public"],
    ["10.0.0.1", "private"],
    ["172.16.0.0", "private"],
    ["172.31.255.255", "private"],
    ["192.168.0.1", "private"],
    ["100.64.0.1", "private"],
    ["fc00::1", "private"],
    ["fdff::1", "private"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["::1", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::7f00:1", "loopback"],
    ["64:ff9b::7f00:1", "loopback"],
    ["::ffff:10.0.0.1", "private"],
    ["64:ff9b::a00:1", "private"],
    ["64:ff9b::808:808", "public"],
    ["::ffff:8.8.8.8", "public"],
    ["169.254.169.254", "metadata"],
    ["169.254.170.2", "metadata"],
    ["::ffff:169.254.169.254", "metadata"],
    ["::ffff:a9fe:a9fe", "metadata"],
    ["64:ff9b::a9fe:a9fe", "metadata"],
    ["fd00:ec2::254", "metadata"],
    ["FD00:EC2:0::0254", "metadata"],
    ["100.100.100.200", "metadata"],
    ["168.63.129.16", "metadata"],
    ["169.254.1.1", "forbidden"],
    ["0.0.0.0", "forbidden"],
    ["0.1.2.3", "forbidden"],
    ["::", "forbidden"],
    ["255.255.255.255", "forbidden"],
    ["224.0.0.1", "forbidden"],
    ["240.0.0.1", "forbidden"],
    ["198.18.0.1", "forbidden"],
    ["192.0.2.1", "forbidden"],
    ["fe80::1", "forbidden"],
    ["fe80::1%eth0", "forbidden"],
    ["fec0::1", "forbidden"],
    ["ff02::1", "forbidden"],
    ["2001:db8::1", "forbidden"],
    ["2002:7f00:1::", "forbidden"],
    ["2001::1", "forbidden"],
    ["64:ff9b:1::a00:1", "forbidden"],
    ["4000::1", "forbidden"],
    ["", "forbidden"],
    ["localhost", "forbidden"],
    ["0177.0.0.1", "forbidden"],
    ["127.1", "forbidden"],
  ])("%s is %s", (address, kind) => {
    expect(addressKind(address)).toBe(kind);
  });

  it("an IPv4 address is the same whether mapped into IPv6 or not", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(addressKind(`::ffff:${address}`)).toBe(addressKind(address));
      }),
    );
  });
});

describe("which kind may be dialled", () => {
  const kinds = ["public", "private", "loopback", "metadata", "forbidden"] as const;
  it.each([
    { allowed: "public", clearText: false, may: ["public"] },
    { allowed: "private", clearText: false, may: ["public", "private"] },
    { allowed: "loopback", clearText: false, may: ["loopback"] },
    { allowed: "public", clearText: true, may: [] },
    { allowed: "private", clearText: true, may: ["private"] },
    { allowed: "loopback", clearText: true, may: ["loopback"] },
  ] as const)("$allowed, without TLS: $clearText", ({ allowed, clearText, may }) => {
    expect(kinds.filter((kind) => mayDial(kind, allowed, clearText))).toEqual(may);
  });
});

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

async function serve(listener: RequestListener): Promise<{ url: string; port: number; hits: () => number }> {
  let hits = 0;
  const server = createServer((request, response) => {
    hits += 1;
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, hits: () => hits };
}

const hello: RequestListener = (_request, response) => {
  response.setHeader("content-type", "application/json");
  response.end('{"hello":true}');
};

function guarded(allow: Addresses, resolve?: ResolveName, bytesMax = 1_000): ReturnType<typeof createGuardedFetch> {
  return createGuardedFetch({ allow, timeoutMs: 2_000, bytesMax, resolve });
}

describe("a guarded fetch", () => {
  it("fetches from an allowed address", async () => {
    const { url } = await serve(hello);
    const response = await guarded("loopback")(`${url}/a?b`);
    expect([response.status, response.headers.get("content-type"), await response.json()]).toEqual([
      200,
      "application/json",
      { hello: true },
    ]);
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "localhost",
  ])("refuses this machine as %s when it is not allowed, before anything is dialled", async (host) => {
    const { port, hits } = await serve(hello);
    for (const allow of ["public", "private"] as const) {
      await expect(guarded(allow)(`http://${host}:${port}/`)).rejects.toBeInstanceOf(EgressRefused);
    }
    expect(hits()).toBe(0);
  });

  it.each([
    "http://169.254.169.254/latest",
    "https://169.254.169.254/",
    "https://[fd00:ec2::254]/",
    "https://[::ffff:a9fe:a9fe]/",
  ])("refuses metadata at %s whatever is allowed", async (url) => {
    for (const allow of ["public", "private", "loopback"] as const) {
      await expect(guarded(allow)(url)).rejects.toMatchObject({ code: "UPSTREAM_ADDRESS_FORBIDDEN" });
    }
  });

  it.each(["ftp://127.0.0.1/", "file:///etc/passwd", "https://user:secret@example.com/"])("refuses %s", async (url) => {
    await expect(guarded("loopback")(url)).rejects.toBeInstanceOf(EgressRefused);
  });

  it("refuses a name when one of its addresses is not allowed, and dials what was judged, resolved once", async () => {
    const { port, hits } = await serve(hello);
    let asked = 0;
    const answers = (...addresses: string[]): ResolveName => {
      return (_hostname, answer) => {
        asked += 1;
        answer(
          null,
          addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        );
      };
    };
    const url = `http://idp.test:${port}/`;
    await expect(guarded("loopback", answers("127.0.0.1", "10.0.0.1"))(url)).rejects.toBeInstanceOf(EgressRefused);
    await expect(guarded("loopback", answers("10.0.0.1", "127.0.0.1"))(url)).rejects.toBeInstanceOf(EgressRefused);
    await expect(guarded("loopback", answers())(url)).rejects.toBeInstanceOf(EgressRefused);
    expect(hits()).toBe(0);
    asked = 0;
    expect((await guarded("loopback", answers("127.0.0.1"))(url)).status).toBe(200);
    expect([hits(), asked]).toEqual([1, 1]);
  });

  it("refuses plain HTTP to private addresses", async () => {
    const resolve: ResolveName = (_hostname, answer) => {
      answer(null, [{ address: "10.1.2.3", family: 4 }]);
    };
    await expect(guarded("private", resolve)("http://idp.test/")).rejects.toBeInstanceOf(EgressRefused);
  });

  it.each([301, 302, 303, 304, 307, 308])("does not follow a %i", async (status) => {
    const inner = await serve(hello);
    const { url } = await serve((_request, response) => {
      response.writeHead(status, { location: inner.url });
      response.end();
    });
    await expect(guarded("loopback")(url)).rejects.toThrow("redirect");
    expect(inner.hits()).toBe(0);
  });

  it.each([
    { bytes: 1_000, fits: true },
    { bytes: 1_001, fits: false },
  ])("bounds the body: $bytes bytes against 1,000", async ({ bytes, fits }) => {
    for (const announced of [true, false]) {
      const { url } = await serve((_request, response) => {
        if (announced) response.setHeader("content-length", bytes);
        response.end("x".repeat(bytes));
      });
      const fetched = guarded("loopback")(url).then((response) => response.text());
      if (fits) expect(await fetched).toHaveLength(bytes);
      else await expect(fetched).rejects.toThrow();
    }
  });

  it("gives up after its time, while headers or body are outstanding", async () => {
    const silent = await serve(() => undefined);
    const slow = await serve((_request, response) => {
      response.write("x");
    });
    const fetch = createGuardedFetch({ allow: "loopback", timeoutMs: 100, bytesMax: 1_000 });
    for (const { url } of [silent, slow]) await expect(fetch(url)).rejects.toThrow();
  });

  it("sends form data as such, and a caller's own encoding wish is not passed on", async () => {
    const { url } = await serve((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify([request.method, request.headers["content-type"], request.headers["accept-encoding"], body]),
        );
      });
    });
    const response = await guarded("loopback")(url, {
      method: "POST",
      body: new URLSearchParams({ a: "1 2" }),
      headers: { "accept-encoding": "gzip" },
    });
    expect(await response.json()).toEqual([
      "POST",
      "application/x-www-form-urlencoded;charset=UTF-8",
      "identity",
      "a=1+2",
    ]);
  });

  it("refuses a compressed answer, which its bound would not cover", async () => {
    const { url } = await serve((_request, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end("x");
    });
    await expect(guarded("loopback")(url)).rejects.toThrow("compressed");
  });
});
