import { StoreUnavailable } from "../model/records.ts";
import { refuse, type Refusal } from "../model/refusal.ts";
import { withWayOut } from "./connections/way-out.ts";
import { columnOf, type Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { columns, journey, type Column, type Row, type Step } from "./journey.ts";

/** The rows before a column is known: those up to and including `parseAndClassify`. */
const head: readonly Step[] = journey.slice(0, 3).map((row) => row.step);
const tails: ReadonlyMap<Column, readonly Step[]> = new Map(
  columns.map((column) => [
    column,
    journey
      .slice(3)
      .filter((row: Row) => row.columns.has(column))
      .map((row) => row.step),
  ]),
);

/** Walks an exchange from the door to its end, or to the first refusal. */
export async function walk(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const refusal = await run(head, x, g);
  if (refusal !== undefined || x.batch !== undefined) return refusal;
  return withWayOut(x, g, await run(tailOf(x), x, g));
}

/** Walks one element of a batch: its principal is known and its message is parsed. */
export async function walkElement(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const refusal = await run(head.slice(2), x, g);
  return refusal ?? withWayOut(x, g, await run(tailOf(x), x, g));
}

function tailOf(x: Exchange): readonly Step[] {
  const column = columnOf(x);
  const steps = columns.find((known) => known === column);
  return (steps !== undefined ? tails.get(steps) : undefined) ?? [withoutColumn];
}

function withoutColumn(): Refusal {
  return refuse("RPC_METHOD_UNKNOWN").refusal;
}

async function run(steps: readonly Step[], x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  try {
    for (const step of steps) {
      const answer = step(x, g);
      const refusal = answer instanceof Promise ? await answer : answer;
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  } catch (cause) {
    // Its upstream may have been asked by now.
    if (x.account !== undefined) x.outcome = "unknown";
    return broken(cause);
  }
}

function broken(cause: unknown): Refusal {
  const code = cause instanceof StoreUnavailable ? "STORE_UNAVAILABLE" : "INTERNAL_FAULT";
  return refuse(code, {}, { cause }).refusal;
}
