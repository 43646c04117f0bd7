/** What RE2 takes at most, in one quantifier and in the product of those that stand inside each other. */
const repetitionsMax = 1_000;

interface Part {
  readonly instructions: number;
  /** Product of the bounds of quantifiers inside each other, where it is largest. */
  readonly repetitions: number;
}

/** The parts of a group so far, together. */
interface Sequence {
  instructions: number;
  repetitions: number;
  /** The atom or group that a quantifier would apply to. */
  last: Part;
}

/**
 * Counts, while a pattern is read from left to right, how many instructions RE2 will make of it: a
 * quantifier with bounds is written out as many copies of what it repeats. An upper bound, since RE2
 * simplifies; the reading itself makes no copies, so it costs no more than the length of the pattern.
 */
export class ProgramSize {
  #open: Sequence = emptySequence();
  readonly #outer: Sequence[] = [];
  #isWithinRepetitions = true;

  /** Of the whole pattern, with the instructions for its beginning and end. */
  get instructions(): number {
    return Math.max(1, this.#open.instructions) + 2;
  }

  /** False once RE2 itself would refuse so much repetition. */
  get isWithinRepetitions(): boolean {
    return this.#isWithinRepetitions;
  }

  atom(instructions: number): void {
    this.#append({ instructions, repetitions: 1 });
  }

  openGroup(): void {
    this.#outer.push(this.#open);
    this.#open = emptySequence();
  }

  closeGroup(): void {
    const group = this.#open;
    this.#open = this.#outer.pop() ?? emptySequence();
    this.#append({ instructions: group.instructions, repetitions: group.repetitions });
  }

  /** A jump to either branch, and one instruction should the branch be empty. */
  alternative(): void {
    this.#open.instructions += 2;
  }

  /** `max` is infinite for `*`, `+` and `{n,}`. Each copy may need a jump past it, and a loop two. */
  repeat(min: number, max: number): void {
    const copies = Math.max(1, Number.isFinite(max) ? max : min);
    const { last } = this.#open;
    const repeated = { instructions: copies * (last.instructions + 1) + 1, repetitions: copies * last.repetitions };
    this.#open.instructions -= last.instructions;
    this.#append(repeated);
    this.#isWithinRepetitions &&= repeated.repetitions <= repetitionsMax && min <= repetitionsMax;
  }

  #append(part: Part): void {
    this.#open.instructions += part.instructions;
    this.#open.repetitions = Math.max(this.#open.repetitions, part.repetitions);
    this.#open.last = part;
  }
}

function emptySequence(): Sequence {
  return { instructions: 0, repetitions: 1, last: { instructions: 0, repetitions: 1 } };
}
