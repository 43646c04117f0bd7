import type { BrowserRecords, Person, Reach, Says, Sealer, SignedIn, SignInWay, UserGrants } from "./port.ts";
import type { Fact } from "../model/refusal.ts";

export interface ConnectOptions {
  /** The gateway's origin, of which everything published is made. */
  readonly publicUrl: string;
  /** How people sign in here; at least one way. */
  readonly ways: readonly SignInWay[];
  /** Absent where no upstream asks for grants of users. */
  readonly grants: UserGrants | undefined;
  readonly reach: (who: SignedIn) => Promise<Reach>;
  /** What a client calls itself; undefined where that is not known here. */
  readonly clientName: (clientId: string) => Promise<string | undefined>;
  /** Whether somebody was put on the deny list. Asked with every request. */
  readonly isDenied: (person: Person) => Promise<boolean>;
  /** Whether what they began at `since` (milliseconds since the epoch) was ended since. Asked with every request. */
  readonly hasEnded: (person: Person, since: number) => Promise<boolean>;
  readonly says: Says;
  readonly records: BrowserRecords;
  readonly sealer: Sealer;
  /** Sign the tokens of forms: the first signs, and what the others signed is taken still. The same on all replicas. */
  readonly formKeys: readonly Uint8Array[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Facts hold neither tokens nor passwords nor anything that a stranger typed. */
  readonly log: (event: string, facts: Readonly<Record<string, Fact>>) => void;
}
