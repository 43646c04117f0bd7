import { describe, expect, it } from "vitest";
import { holdBack } from "../../../src/gateway/streams/held-back.ts";
import type { LiveStream, StreamEnd } from "../../../src/gateway/streams/live-stream.ts";

function liveStream(): { live: LiveStream; sent: string[]; ends: StreamEnd[] } {
  const sent: string[] = [];
  const ends: StreamEnd[] = [];
  const live: LiveStream = {
    id: "one",
    ended: new Promise(() => undefined),
    deliver: (message) => sent.push(message) > 0,
    end: (why) => void ends.push(why),
    get over() {
      return ends.length > 0;
    },
  };
  return { live, sent, ends };
}

describe("messages that must not precede the first", () => {
  it("wait for it, keep their order, and follow at once afterwards", () => {
    const { live, sent } = liveStream();
    const held = holdBack(live, { messagesMax: 2 });
    held.stream.deliver("a");
    held.stream.deliver("b");
    expect(sent).toEqual([]);
    held.release("first");
    held.stream.deliver("c");
    held.release("again");
    expect(sent).toEqual(["first", "a", "b", "c"]);
  });

  it.each([
    [2, []],
    [3, ["too-slow"]],
  ])("are at most two here: %i end the stream as %j", (count, why) => {
    const { live, ends } = liveStream();
    const held = holdBack(live, { messagesMax: 2 });
    for (let at = 0; at < count; at += 1) held.stream.deliver("m");
    expect(ends).toEqual(why);
  });
});
