import { StoreUnavailable } from "../model/records.ts";

/** Entries that one write looks at beyond its own, so that what expired leaves without a timer. */
const sweepPerWrite = 16;
/** A full shelf is searched for expired entries at most this often: under attack it is full of live ones. */
const fullSweepMsMin = 1_000;

interface Text {
  readonly value: string;
  readonly expiresAt: number;
}

/** Members and when each expires. A set without live members is gone. */
class Members extends Map<string, number> {
  /** None expires before: until then nobody has to look through them, however many there are. */
  soonest = Infinity;
}

interface TrimBounds {
  readonly keepMax: number;
  readonly takeMax: number;
}

export interface Shelf {
  text(name: string): Text | undefined;
  has(name: string): boolean;
  /** Makes room for so many new entries at once; throws, as each of them would, where there is none. */
  reserve(count: number): void;
  putText(name: string, value: string, expiresAt: number): void;
  extend(name: string, expiresAt: number): boolean;
  remove(name: string): boolean;
  addMember(name: string, member: string, expiresAt: number): number;
  removeMember(name: string, member: string): void;
  members(name: string): readonly string[];
  /** See `RecordTrims`. */
  takeExcess(name: string, bounds: TrimBounds): readonly string[];
  clear(): void;
}

/**
 * The memory store's entries: texts and sets under one bound, each expiring by itself. Everything here
 * is synchronous, which is what makes the store's operations atomic.
 */
export function createShelf(options: { now: () => number; entriesMax: number }): Shelf {
  return new EntryShelf(options);
}

class EntryShelf implements Shelf {
  readonly #now: () => number;
  readonly #entriesMax: number;
  readonly #entries = new Map<string, Text | Members>();
  /** Texts and members of sets. */
  #count = 0;
  #sweep: Iterator<string> = this.#entries.keys();
  #fullSweepAt = -Infinity;

  constructor({ now, entriesMax }: { now: () => number; entriesMax: number }) {
    this.#now = now;
    this.#entriesMax = entriesMax;
  }

  text(name: string): Text | undefined {
    const entry = this.#live(name);
    if (entry instanceof Members) throw wrongKind();
    return entry;
  }

  has(name: string): boolean {
    return this.#live(name) !== undefined;
  }

  reserve(count: number): void {
    this.#makeRoom(count);
  }

  putText(name: string, value: string, expiresAt: number): void {
    const held = this.#live(name);
    if (held === undefined) this.#makeRoom();
    else this.remove(name);
    this.#entries.set(name, { value, expiresAt });
    this.#count += 1;
  }

  extend(name: string, expiresAt: number): boolean {
    const entry = this.text(name);
    if (entry === undefined) return false;
    this.#entries.set(name, { value: entry.value, expiresAt });
    return true;
  }

  remove(name: string): boolean {
    const entry = this.#live(name);
    if (entry === undefined) return false;
    this.#drop(name, entry);
    return true;
  }

  addMember(name: string, member: string, expiresAt: number): number {
    const set = this.#set(name) ?? new Members();
    if (!set.has(member)) {
      this.#makeRoom();
      this.#count += 1;
    }
    set.set(member, expiresAt);
    set.soonest = Math.min(set.soonest, expiresAt);
    // Making room may have swept the set itself away.
    this.#entries.set(name, set);
    return set.size;
  }

  removeMember(name: string, member: string): void {
    const set = this.#set(name);
    if (set?.delete(member) !== true) return;
    this.#count -= 1;
    if (set.size === 0) this.#entries.delete(name);
  }

  members(name: string): readonly string[] {
    return [...(this.#set(name)?.keys() ?? [])];
  }

  takeExcess(name: string, { keepMax, takeMax }: TrimBounds): readonly string[] {
    const set = this.#set(name);
    const excess = Math.min((set?.size ?? 0) - keepMax, takeMax);
    if (set === undefined || excess <= 0) return [];
    const first = [...set].sort(([, one], [, other]) => one - other).slice(0, excess);
    for (const [member] of first) set.delete(member);
    this.#count -= first.length;
    if (set.size === 0) this.#entries.delete(name);
    return first.map(([member]) => member);
  }

  clear(): void {
    this.#entries.clear();
    this.#count = 0;
  }

  #set(name: string): Members | undefined {
    const entry = this.#live(name);
    if (entry !== undefined && !(entry instanceof Members)) throw wrongKind();
    return entry;
  }

  /** The entry under `name` unless it expired; expired members are dropped on the way. */
  #live(name: string): Text | Members | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const now = this.#now();
    if (entry instanceof Members) {
      if (entry.soonest > now) return entry;
      this.#dropExpired(entry, now);
      if (entry.size > 0) return entry;
      this.#entries.delete(name);
      return undefined;
    }
    if (entry.expiresAt > now) return entry;
    this.#drop(name, entry);
    return undefined;
  }

  #dropExpired(set: Members, now: number): void {
    set.soonest = Infinity;
    for (const [member, expiresAt] of set) {
      if (expiresAt > now) {
        set.soonest = Math.min(set.soonest, expiresAt);
      } else {
        set.delete(member);
        this.#count -= 1;
      }
    }
  }

  #drop(name: string, entry: Text | Members): void {
    this.#entries.delete(name);
    this.#count -= entry instanceof Members ? entry.size : 1;
  }

  #makeRoom(wanted = 1): void {
    for (let looked = 0; looked < sweepPerWrite; looked += 1) this.#sweepNext();
    if (this.#count + wanted <= this.#entriesMax) return;
    const now = this.#now();
    if (now - this.#fullSweepAt >= fullSweepMsMin) {
      this.#fullSweepAt = now;
      for (const name of this.#entries.keys()) this.#live(name);
    }
    if (this.#count + wanted > this.#entriesMax) throw new StoreUnavailable("the memory store is full of live records");
  }

  #sweepNext(): void {
    const next = this.#sweep.next();
    if (next.done === true) this.#sweep = this.#entries.keys();
    else this.#live(next.value);
  }
}

function wrongKind(): StoreUnavailable {
  return new StoreUnavailable("the record is of another kind");
}
