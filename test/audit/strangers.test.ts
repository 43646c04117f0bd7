import { describe, expect, it } from "vitest";
import { addressPrefix } from "../../src/audit/address-prefix.ts";
import type { AuditDraft } from "../../src/audit/port.ts";
import { createStrangers } from "../../src/audit/strangers.ts";
import type { Strangers } from "../../src/audit/strangers.ts";

function bench(bucketsMax = 1_000): { strangers: Strangers; events: AuditDraft[]; pass: (ms: number) => void } {
  let now = 0;
  let serial = 0;
  const events: AuditDraft[] = [];
  const record = (event: AuditDraft): boolean => events.push(event) > 0;
  const strangers = createStrangers({
    evidence: { record },
    now: () => now,
    windowMs: 60_000,
    bucketsMax,
    newRef: () => `R${++serial}`,
  });
  return {
    strangers,
    events,
    pass: (ms) => {
      now += ms;
    },
  };
}

describe("refusals of strangers", () => {
  it("become one event per code, network and window, under the reference that each was given", () => {
    const { strangers, events, pass } = bench();
    const refs = ["192.0.2.1", "192.0.2.250", "::ffff:192.0.2.9"].map((ip) => strangers.note("AUTH_TOKEN_MISSING", ip));
    expect(new Set(refs).size).toBe(1);
    const other = [
      strangers.note("AUTH_TOKEN_MISSING", "192.0.3.1"),
      strangers.note("AUTH_TOKEN_EXPIRED", "192.0.2.1"),
    ];
    expect(new Set([...refs, ...other]).size).toBe(3);
    pass(59_999);
    strangers.flush();
    expect(events).toEqual([]);
    pass(1);
    strangers.flush();
    expect(events).toEqual([
      {
        type: "strangers",
        ref: refs[0],
        tenant: "",
        refusal: { code: "AUTH_TOKEN_MISSING", facts: {} },
        strangers: { addressPrefix: "192.0.2.0/24", count: 3 },
      },
      expect.objectContaining({ ref: other[0], strangers: { addressPrefix: "192.0.3.0/24", count: 1 } }),
      expect.objectContaining({ ref: other[1], refusal: { code: "AUTH_TOKEN_EXPIRED", facts: {} } }),
    ]);
  });

  it("after a window's end begin a new event, flushed or not", () => {
    const { strangers, events, pass } = bench();
    const first = strangers.note("URL_MALFORMED", "192.0.2.1");
    pass(60_000);
    const second = strangers.note("URL_MALFORMED", "192.0.2.1");
    expect(second).not.toBe(first);
    expect(events).toMatchObject([{ ref: first }]);
    strangers.close();
    expect(events).toMatchObject([{ ref: first }, { ref: second }]);
  });

  it("from more networks than there is room for are counted together, and none is lost", () => {
    const { strangers, events } = bench(10);
    for (let n = 0; n < 1_000; n += 1) {
      strangers.note(n % 2 === 0 ? "AUTH_TOKEN_MISSING" : "AUTH_TOKEN_EXPIRED", `10.${n >> 8}.${n & 255}.1`);
    }
    strangers.close();
    expect(events.length).toBe(12);
    expect(events.filter(({ strangers: s }) => s?.addressPrefix === "other")).toHaveLength(2);
    expect(events.reduce((sum, { strangers: s }) => sum + (s?.count ?? 0), 0)).toBe(1_000);
  });

  it("reach the evidence in portions, so that they cannot fill its queue at once", () => {
    const { strangers, events, pass } = bench(300);
    for (let n = 0; n < 300; n += 1) strangers.note("AUTH_TOKEN_MISSING", `10.${n >> 8}.${n & 255}.1`);
    pass(60_000);
    strangers.flush();
    expect(events).toHaveLength(10);
    strangers.flush();
    expect(events).toHaveLength(20);
    strangers.close();
    expect(events).toHaveLength(300);
  });
});

describe("the network of an address", () => {
  it.each([
    ["192.0.2.77", "192.0.2.0/24"],
    ["0.0.0.0", "0.0.0.0/24"],
    ["::ffff:192.0.2.77", "192.0.2.0/24"],
    ["::ffff:c000:24d", "192.0.2.0/24"],
    ["2001:db8:1:2::3", "2001:db8:1::/48"],
    ["2001:db8::1", "2001:db8:0::/48"],
    ["2001:0DB8:0001:0:0:0:0:1", "2001:db8:1::/48"],
    ["::1", "0:0:0::/48"],
    ["::", "0:0:0::/48"],
    ["fe80::1%eth0", "fe80:0:0::/48"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0::/48"],
    ["", "unknown"],
    ["192.0.2", "unknown"],
    ["192.0.2.256", "unknown"],
    ["host\nname", "unknown"],
  ])("%j is %s", (address, expected) => {
    expect(addressPrefix(address)).toBe(expected);
  });
});
