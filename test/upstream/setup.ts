import { afterEach } from "vitest";
import { limits } from "../../src/model/limits.ts";
import type { Limits } from "../../src/model/limits.ts";
import type { RecordKey } from "../../src/model/records.ts";
import { createUpstreams } from "../../src/upstream/create.ts";
import type { UpstreamOptions, UpstreamSample } from "../../src/upstream/options.ts";
import type {
  OnAccountOf,
  UpstreamAnswer,
  UpstreamRequest,
  Upstreams,
  UpstreamSessionRecords,
} from "../../src/upstream/port.ts";
import { startScriptedUpstream } from "./scripted-upstream.ts";
import type { ScriptedUpstream, ScriptedUpstreamOptions } from "./scripted-upstream.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Closes something when the test is over. */
export function closeAfter(close: () => Promise<void>): void {
  closing.unshift(close);
}

export async function scripted(options?: ScriptedUpstreamOptions): Promise<ScriptedUpstream> {
  const upstream = await startScriptedUpstream(options);
  closeAfter(() => upstream.close());
  return upstream;
}

export interface Logged {
  readonly event: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Room {
  readonly upstreams: Upstreams;
  readonly records: MemoryRecords;
  readonly log: Logged[];
  readonly samples: UpstreamSample[];
  readonly clock: { now: number };
}

export interface RoomOptions {
  readonly options?: Partial<UpstreamOptions>;
  readonly limits?: Partial<Limits>;
  readonly records?: MemoryRecords;
  readonly clock?: { now: number };
  readonly onSuspended?: (upstream: string, suspended: boolean) => void;
}

/** The room with one upstream called `up`, reachable on loopback. */
export function roomFor(url: string, { options = {}, ...given }: RoomOptions = {}): Room {
  const records = given.records ?? memoryRecords();
  const clock = given.clock ?? { now: 1_000_000 };
  const log: Logged[] = [];
  const samples: UpstreamSample[] = [];
  rooms += 1;
  const prefix = `room${rooms}`;
  const upstreams = createUpstreams({
    upstreams: { up: { url, addresses: "loopback", ...options } },
    records,
    now: () => clock.now,
    randomId: () => prefix,
    gatewayInfo: { name: "sallyport", version: "0.1.0" },
    limits: { ...limits, ...given.limits },
    onSuspended: given.onSuspended,
    log: (event, facts) => {
      log.push({ event, facts });
    },
    observe: (sample) => {
      samples.push(sample);
    },
  });
  closeAfter(() => upstreams.close());
  return { upstreams, records, log, samples, clock };
}

let rooms = 0;

export const alice: OnAccountOf = {
  tenant: "default",
  principalKey: '["default","i","human","alice","c"]',
  clientSession: "client-session-a",
  caller: undefined,
};
export const bob: OnAccountOf = {
  tenant: "default",
  principalKey: '["default","i","human","bob","c"]',
  clientSession: "client-session-b",
  caller: undefined,
};

export function call(changes: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    upstream: "up",
    method: "tools/call",
    params: { name: "echo", arguments: { text: "hello" } },
    account: alice,
    name: "echo",
    inputSchema: undefined,
    kind: "tool",
    signal: new AbortController().signal,
    timeoutMs: 10_000,
    ...changes,
  };
}

/** What a test compares of an answer: kind, outcome and code. */
export function summary(answer: UpstreamAnswer): string {
  if (answer.kind !== "failed") return answer.kind;
  return `${answer.outcome} ${answer.refusal.code}`;
}

export interface MemoryRecords extends UpstreamSessionRecords {
  readonly entries: Map<string, string>;
  broken: boolean;
}

export function memoryRecords(): MemoryRecords {
  const entries = new Map<string, string>();
  const nameOf = (key: RecordKey): string => JSON.stringify(key);
  const records: MemoryRecords = {
    entries,
    broken: false,
    get: (key) => act(() => entries.get(nameOf(key))),
    set: (key, value) => act(() => void entries.set(nameOf(key), value)),
    touch: (key) => act(() => entries.has(nameOf(key))),
    delete: (key) => act(() => entries.delete(nameOf(key))),
    replace: (key, expected, value) =>
      act(() => {
        if (entries.get(nameOf(key)) !== expected) return false;
        entries.set(nameOf(key), value);
        return true;
      }),
  };
  const act = <T>(work: () => T): Promise<T> =>
    records.broken ? Promise.reject(new Error("the store is down")) : Promise.resolve(work());
  return records;
}

/** Waits until `holds`; the test's own timeout ends it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}
