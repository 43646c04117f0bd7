import { describe, expect, it } from "vitest";
import { cancelText, createUnderWay } from "../../src/gateway/under-way.ts";
import { ExactNumber } from "../../src/model/json.ts";

const one = { tenant: "acme", id: "s1" };
const two = { tenant: "acme", id: "s2" };

describe("calls under way", () => {
  it("are cancelled by session and id with its exact type, once, and not after they have left", () => {
    const underWay = createUnderWay();
    const call = underWay.begin(one, 1);
    const heard: string[] = [];
    call.cancellation.addEventListener("abort", () => heard.push("aborted"));
    for (const other of ["1", 2, new ExactNumber("1000000000000000000001")])
      expect(underWay.cancel(one, other)).toBe("not here");
    expect(underWay.cancel(two, 1)).toBe("not here");
    expect(underWay.cancel({ tenant: "other", id: "s1" }, 1)).toBe("not here");
    expect([call.cancelled, call.cancellation.aborted]).toEqual([false, false]);
    expect([underWay.cancel(one, 1), underWay.cancel(one, 1)]).toEqual(["cancelled", "cancelled"]);
    expect([call.cancelled, call.cancellation.aborted, heard]).toEqual([true, true, ["aborted"]]);
    call.leave();
    expect(underWay.cancel(one, 1)).toBe("not here");
  });

  it("that share an id are ambiguous until one is left", () => {
    const underWay = createUnderWay();
    const [first, second] = [underWay.begin(one, "x"), underWay.begin(one, "x")];
    expect(underWay.cancel(one, "x")).toBe("ambiguous");
    expect([first.cancelled, second.cancelled]).toEqual([false, false]);
    first.leave();
    first.leave();
    expect(underWay.cancel(one, "x")).toBe("cancelled");
    expect([first.cancelled, second.cancelled]).toEqual([false, true]);
  });

  it("are found by the text that names them elsewhere, and by no other", () => {
    const underWay = createUnderWay();
    const call = underWay.begin(one, 1);
    for (const text of [cancelText(one, "1"), cancelText(two, 1), "", "[]", "{"]) underWay.cancelNamed(text);
    expect(call.cancelled).toBe(false);
    underWay.cancelNamed(cancelText(one, 1));
    expect(call.cancelled).toBe(true);
  });

  it("whose client is lost are ended without having been cancelled", () => {
    const call = createUnderWay().begin(one, 1);
    let aborted = 0;
    const listener = (): void => void (aborted += 1);
    const deaf = (): void => void (aborted += 100);
    call.cancellation.addEventListener("abort", listener);
    call.cancellation.addEventListener("abort", deaf);
    call.cancellation.removeEventListener("abort", deaf);
    call.abandon();
    call.abandon();
    expect([call.cancelled, call.cancellation.aborted, aborted]).toEqual([false, true, 1]);
  });

  it("that last are known by their sessions, each once, from the second look on", () => {
    const underWay = createUnderWay();
    const calls = [underWay.begin(one, 1), underWay.begin(one, 2), underWay.begin(two, 1)];
    expect(underWay.lasting()).toEqual([]);
    const late = underWay.begin({ tenant: "acme", id: "s3" }, 1);
    expect(underWay.lasting()).toEqual([one, two]);
    calls[2]!.leave();
    expect(underWay.lasting()).toEqual([one, { tenant: "acme", id: "s3" }]);
    for (const call of [...calls, late]) call.leave();
    expect(underWay.lasting()).toEqual([]);
  });
});
