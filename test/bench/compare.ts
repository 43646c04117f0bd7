import { createLoad } from "./load.ts";
import type { Request } from "./load.ts";
import type { Subject } from "./subject.ts";

/** One side of a comparison. */
export interface Side {
  readonly subject: Subject;
  readonly request: Request;
}

export interface Effort {
  readonly rounds: number;
  /** Requests per side and round. */
  readonly requests: number;
  readonly warmUp: number;
}

export interface Ratio {
  readonly ratio: number;
  readonly min: number;
  readonly max: number;
  /** Medians of the two sides, in µs of processor time per request. */
  readonly us: readonly [number, number];
}

/**
 * Processor time per request of one side over the other's. The sides take turns, so that what else the machine
 * does meets both; the figure is the median of the rounds' ratios, and its spread is the least and the greatest.
 */
export async function compare(measured: Side, against: Side, effort: Effort): Promise<Ratio> {
  const sides = [measured, against].map((side) => ({ ...side, load: createLoad(side.subject.port, side.request) }));
  for (const { load } of sides) await load.send(effort.warmUp);
  const rounds: [number, number][] = [];
  for (let round = 0; round < effort.rounds; round += 1) {
    const costs: number[] = [];
    for (const { subject, load } of sides) {
      const before = await subject.cpuUs();
      await load.send(effort.requests);
      costs.push(((await subject.cpuUs()) - before) / effort.requests);
    }
    rounds.push([costs[0] ?? Number.NaN, costs[1] ?? Number.NaN]);
  }
  await Promise.all(sides.map(async ({ load }) => load.close()));
  const ratios = rounds.map(([one, other]) => one / other);
  return {
    ratio: median(ratios),
    min: Math.min(...ratios),
    max: Math.max(...ratios),
    us: [median(rounds.map(([one]) => one)), median(rounds.map(([, other]) => other))],
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
