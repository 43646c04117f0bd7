import { expect, test } from "vitest";
import { itemDeadlines } from "../../src/compose-deadlines.ts";
import type { ItemDeadlinesConfig } from "../../src/config/types.ts";
import type { ItemKind } from "../../src/model/item.ts";
import type { UpstreamAnswer } from "../../src/upstream/port.ts";
import { alice, call, closeAfter, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { ReceivedRequest, ScriptedUpstream, ScriptedUpstreamOptions, Wire } from "./scripted-upstream.ts";

interface Held {
  readonly request: ReceivedRequest;
  readonly wire: Wire;
}

/** An upstream whose calls a test answers, by the name of the tool. */
async function holding(
  options: ScriptedUpstreamOptions = {},
): Promise<{ up: ScriptedUpstream; held: Map<string, Held> }> {
  const up = await scripted(options);
  const held = new Map<string, Held>();
  up.script((request, wire) => {
    if (request.rpc["method"] !== "tools/call") return false;
    held.set((request.rpc["params"] as { name: string }).name, { request, wire });
    return true;
  });
  return { up, held };
}

function named(name: string, changes: Parameters<typeof call>[0] = {}): ReturnType<typeof call> {
  return call({ name, params: { name, arguments: {} }, timeoutMs: 600_000, ...changes });
}

function result({ request }: Held): unknown {
  return { jsonrpc: "2.0", id: request.rpc["id"], result: { content: [], resultType: "complete" } };
}

async function heldFor(held: Map<string, Held>, name: string): Promise<Held> {
  await until(() => held.has(name));
  const found = held.get(name);
  if (found === undefined) throw new Error("not held");
  return found;
}

function facts(answer: UpstreamAnswer): unknown {
  return answer.kind === "failed" ? answer.refusal.facts : undefined;
}

test.each(["modern", "legacy"] as const)("a silent call may take as long as its own deadlines say: %s", async (era) => {
  const { up, held } = await holding({ era });
  const timeouts = { firstByteMs: 500, callMs: 1_000 };
  const { upstreams } = roomFor(up.url, { options: { timeouts } });
  await upstreams.identify("up", alice, new AbortController().signal);
  const patient = upstreams.request(named("slow", { deadlines: { callMs: 60_000, firstByteMs: 60_000 } }));
  const plain = await upstreams.request(named("plain"));
  expect(summary(plain)).toBe("unknown UPSTREAM_TIMED_OUT");
  expect(facts(plain)).toMatchObject({ phase: "first-byte", ms: 500 });
  const whole = await upstreams.request(named("whole", { deadlines: { firstByteMs: 60_000 } }));
  expect(facts(whole)).toMatchObject({ phase: "call", ms: 1_000 });
  const slow = await heldFor(held, "slow");
  slow.wire.json(200, result(slow));
  expect(summary(await patient)).toBe("result");
});

test("a call's own deadlines may be shorter, and hold for it alone", async () => {
  const { up, held } = await holding();
  const { upstreams } = roomFor(up.url);
  const plain = upstreams.request(named("plain"));
  const plainHeld = await heldFor(held, "plain");
  const short = await upstreams.request(named("short", { deadlines: { firstByteMs: 300 } }));
  expect(facts(short)).toMatchObject({ phase: "first-byte", ms: 300 });
  const begun = upstreams.request(named("begun", { deadlines: { idleMs: 300 } }));
  (await heldFor(held, "begun")).wire.eventStream();
  expect(facts(await begun)).toMatchObject({ phase: "idle", ms: 300 });
  plainHeld.wire.json(200, result(plainHeld));
  expect(summary(await plain)).toBe("result");
});

/** Sends `text` again and again until the test is over. */
function beat({ wire }: Held, text: string): { readonly sent: number } {
  const state = { sent: 0 };
  const timer = setInterval(() => {
    wire.chunk(text);
    state.sent += 1;
  }, 30);
  closeAfter(() => {
    clearInterval(timer);
    return Promise.resolve();
  });
  return state;
}

function progressOf({ request }: Held): string {
  const { _meta } = request.rpc["params"] as { _meta: { progressToken: unknown } };
  const { progressToken } = _meta;
  return event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } });
}

const lively: readonly { name: string; text: (of: Held) => string }[] = [
  { name: "comments", text: () => ": still at it\n\n" },
  { name: "progress", text: progressOf },
];

test.each(lively)("$name of the upstream end its silence", async ({ text }) => {
  const { up, held } = await holding();
  const { upstreams } = roomFor(up.url, { options: { timeouts: { idleMs: 300 } } });
  const onProgress = (): void => undefined;
  const answer = upstreams.request(named("slow", { onProgress }));
  const slow = await heldFor(held, "slow");
  slow.wire.eventStream();
  const beats = beat(slow, text(slow));
  const mute = upstreams.request(named("mute"));
  (await heldFor(held, "mute")).wire.eventStream();
  expect(facts(await mute)).toMatchObject({ phase: "idle", ms: 300 });
  await until(() => beats.sent >= 15);
  slow.wire.chunk(event(result(slow)));
  expect(summary(await answer)).toBe("result");
});

test.each(lively)("$name of the upstream extend no call beyond its absolute deadline", async ({ text }) => {
  const { up, held } = await holding();
  const { upstreams } = roomFor(up.url);
  const onProgress = (): void => undefined;
  const answer = upstreams.request(named("slow", { onProgress, timeoutMs: 300 }));
  const slow = await heldFor(held, "slow");
  slow.wire.eventStream();
  beat(slow, text(slow));
  expect(facts(await answer)).toMatchObject({ phase: "call", ms: 300 });
});

const entries: readonly ItemDeadlinesConfig[] = [
  { tool: "export_all", callMs: 1 },
  { tool: "export_*", callMs: 2 },
  { prompt: "*", callMs: 3 },
  { resource: "file:///reports/**", callMs: 4 },
];

test.each<{ kind: ItemKind; name: string; callMs: number | undefined }>([
  { kind: "tool", name: "export_all", callMs: 1 },
  { kind: "tool", name: "export_some", callMs: 2 },
  { kind: "tool", name: "exports", callMs: undefined },
  { kind: "prompt", name: "export_all", callMs: 3 },
  { kind: "resource", name: "file:///reports/a/b", callMs: 4 },
  { kind: "template", name: "file:///reports/{id}", callMs: 4 },
  { kind: "resource", name: "file:///others/a", callMs: undefined },
])("the first entry that names an item holds: $kind $name", ({ callMs, ...item }) => {
  expect(itemDeadlines(entries)(item)?.callMs).toBe(callMs);
});
