import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSealing } from "../../../src/gateway/create-sealing.ts";
import {
  createTaskBook,
  type KeptTask,
  type TaskBook,
  type TaskRecords,
} from "../../../src/gateway/tasks/task-book.ts";
import { keptState } from "../../../src/gateway/tasks/kept-state.ts";
import type { ClientFeature } from "../../../src/model/client-feature.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { limits } from "../../../src/model/limits.ts";
import { writeAskedKinds } from "../../../src/protocol/asked-kinds.ts";
import { writeJson } from "../../../src/protocol/json/write.ts";
import { readTask } from "../../../src/protocol/tasks.ts";

const owner = { tenant: "t", server: "s", principalKey: "p" };
const now = 1_800_000_000_000;

function book(): TaskBook {
  const held = new Map<string, string>();
  const records = {
    get: (key: readonly string[]) => Promise.resolve(held.get(JSON.stringify(key))),
    set: (key: readonly string[], value: string) => {
      expect(value.length).toBeLessThanOrEqual(limits.recordCharsMax);
      held.set(JSON.stringify(key), value);
      return Promise.resolve();
    },
    addMember: () => Promise.resolve(),
  } as unknown as TaskRecords;
  const key = { kid: "k", key: createHash("sha256").update("k").digest() };
  const { sealedHandleCharsMax } = limits;
  return createTaskBook({
    records,
    sealing: createSealing({
      keys: { current: key, previous: [] },
      random: randomBytes,
      now: () => now,
      sealedHandleCharsMax,
    }),
    now: () => now,
    limits,
    digest: (text) => createHash("sha256").update(text).digest("hex"),
  });
}

/** As much of a character as fits so many bytes of JSON text. */
function filled(character: string, bytes: number): string {
  return character.repeat(Math.floor(bytes / (Buffer.byteLength(JSON.stringify(character)) - 2)));
}

function task(tasks: TaskBook, more: Partial<KeptTask> & { readonly id?: string } = {}): KeptTask {
  const name = { era: "legacy", upstream: "up", tool: "slow", id: more.id ?? "t" } as const;
  const handle = tasks.seal(owner, name);
  const state = { taskId: handle, status: "working", createdAt: "a", lastUpdatedAt: "b", ttl: 1, ...more.state };
  return { name, handle, args: undefined, asked: undefined, keptAt: now, expiresAt: now + 1_000, ...more, state };
}

describe("the record of a task", () => {
  it.each(["a", '"', "\\", "\u0001", "\u{1f600}"])(
    "is kept when every part is as long as may be, of %j",
    async (character) => {
      const tasks = book();
      const asked = new Map<string, ClientFeature>();
      for (let at = 0; at < limits.askedPerRoundMax; at += 1) {
        const key = `${at}`.padEnd(limits.askedIdCharsMax, character).toWellFormed();
        asked.set(key, "elicitation_url");
        if (Buffer.byteLength(writeJson(writeAskedKinds(asked))) > limits.taskAskedBytesMax) asked.delete(key);
      }
      const kept = task(tasks, {
        id: character.repeat(limits.taskIdCharsMax / character.length),
        args: { a: filled(character, limits.taskArgumentsBytesMax - 8) },
        asked,
        state: { statusMessage: filled(character, limits.taskStateBytesMax - 120) },
      });
      await tasks.keep(owner, { ...kept, name: { ...kept.name, tool: "x".repeat(limits.nameCharsMax) } });
      const found = await tasks.find(owner, kept.name);
      expect(found?.state).toEqual(kept.state);
      expect(found?.asked).toEqual(asked);
      expect(found?.args).toEqual(kept.args);
    },
  );

  it("holds no longer state than it may, and of a longer one what clients rely on", () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            statusMessage: fc.string({ unit: "binary", maxLength: 20_000, size: "max" }),
            createdAt: fc.string({ unit: "binary", maxLength: 2_000, size: "max" }),
            lastUpdatedAt: fc.string({ unit: "binary", maxLength: 2_000, size: "max" }),
            ttl: fc.constantFrom(null, 0, 60_000),
            pollInterval: fc.nat(),
            own: fc.string({ maxLength: 20_000, size: "max" }),
          },
          { requiredKeys: ["createdAt", "lastUpdatedAt", "ttl"] },
        ),
        (members) => {
          const state: JsonObject = { taskId: "h", status: "input_required", ...members };
          const kept = keptState(state);
          expect(Buffer.byteLength(writeJson(kept))).toBeLessThanOrEqual(limits.taskStateBytesMax);
          expect(readTask("legacy", "tasks/list", { ...kept, taskId: "h" }).ok).toBe(true);
          expect([kept["status"], kept["ttl"], kept["pollInterval"]]).toEqual([
            state["status"],
            state["ttl"],
            state["pollInterval"],
          ]);
        },
      ),
      { numRuns: 60, endOnFailure: true },
    );
  });

  it("holds a state of the longest that may be kept whole, and one more as its parts", () => {
    const room = limits.taskStateBytesMax - Buffer.byteLength(writeJson({ status: "working", own: "" }));
    const whole = { status: "working", own: "x".repeat(room) };
    expect(keptState({ taskId: "h", ...whole })).toEqual(whole);
    expect(keptState({ taskId: "h", ...whole, own: `${whole.own}x` })).toEqual({ status: "working" });
  });
});
