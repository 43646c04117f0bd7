/**
 * Counts what one evaluation costs, in steps of roughly a list element looked at. Once it is
 * exhausted, the functions that charge it hand out empty answers, so that loops run dry, and the
 * evaluation as a whole counts as an error whatever it returned. Throwing instead would not end
 * anything: `||`, `&&`, `all` and `exists` absorb errors and go on.
 */
export interface Meter {
  left: number;
  exhausted: boolean;
}

/** Characters that cost one step where text is merely compared or searched. */
const charsPerStep = 1_024;
/** Characters that cost one step where every one of them is looked at. */
export const countedCharsPerStep = 128;
/** Characters that cost one step where a pattern runs over text. */
export const patternCharsPerStep = 8;

export function fill(meter: Meter, steps: number): void {
  meter.left = steps;
  meter.exhausted = false;
}

/** Takes `steps` from the meter; false once nothing is left. */
export function charge(meter: Meter, steps: number): boolean {
  meter.left -= steps;
  if (meter.left < 0) meter.exhausted = true;
  return !meter.exhausted;
}

export function textCost(text: string): number {
  return 1 + Math.floor(text.length / charsPerStep);
}
