import { createHash } from "node:crypto";
import type { RecordKey } from "../../model/records.ts";
import { readGrant, writeGrant, type Grant } from "./grant-record.ts";
import type { GrantsOptions } from "./options.ts";
import type { Person } from "./port.ts";

/** Whose grant, at which upstream, from which authorization server. */
export interface GrantName {
  readonly person: Person;
  readonly upstream: string;
  readonly issuer: string;
}

/** A grant together with the very record it was read from. */
export interface Held {
  readonly name: GrantName;
  readonly grant: Grant;
  readonly sealed: string;
}

/** Grants at rest: sealed, each under the digest of its name, and written only over what was read. */
export interface GrantBook {
  read(name: GrantName): Promise<Held | undefined>;
  /** Writes whatever stands there: for a person who has just connected. */
  put(name: GrantName, grant: Grant): Promise<void>;
  /** Writes only while the record is still the one that was read; undefined when somebody else wrote. */
  replace(held: Held, grant: Grant): Promise<Held | undefined>;
  /** Reads and changes until it is written, at most some times over; `change` gives undefined to leave it. */
  change(name: GrantName, change: (grant: Grant) => Grant | undefined): Promise<Grant | undefined>;
  /** Removes and returns it: of two callers, one gets the grant. One that is written meanwhile stays known to its owner. */
  take(name: GrantName): Promise<Grant | undefined>;
  /**
   * Says that it is in use; cheap, and done once in `grantTouchMs`, which is when it gives true. It is written anew, under
   * the key that is current, so that an earlier one can be given up although nothing of the grant changes.
   */
  touch(held: Held): Promise<boolean>;
  /** Every grant of a person that is remembered, by upstream and issuer. Of some of them there may be no record. */
  namesOf(person: Person): Promise<readonly GrantName[]>;
}

const changesMax = 10;

export function createGrantBook(options: GrantsOptions): GrantBook {
  const { records, sealer, limits, now, log } = options;
  const life = limits.grantIdleMs;

  const read = async (name: GrantName): Promise<Held | undefined> => {
    const sealed = await records.get(keyOf(name));
    if (sealed === undefined) return undefined;
    const grant = open(name, sealed);
    return grant === undefined ? undefined : { name, grant, sealed };
  };
  const open = (name: GrantName, sealed: string): Grant | undefined => {
    const text = sealer.open(associatedWith(name), sealed);
    const grant = text === undefined ? undefined : readGrant(text);
    if (grant === undefined) log("grant-unreadable", { upstream: name.upstream, tenant: name.person.tenant });
    return grant;
  };
  const seal = (name: GrantName, grant: Grant): string =>
    sealer.seal(associatedWith(name), writeGrant({ ...grant, writtenAt: now() }));
  const replace = async (held: Held, grant: Grant): Promise<Held | undefined> => {
    // Whatever renews the record renews its name too: its owner, and whoever puts them out, finds grants by that alone.
    await remember(held.name);
    const sealed = seal(held.name, grant);
    const written = await records.replace(keyOf(held.name), held.sealed, sealed, life);
    return written ? { name: held.name, grant, sealed } : undefined;
  };
  const remember = async ({ person, upstream, issuer }: GrantName): Promise<void> => {
    await records.addMember(setOf(person), JSON.stringify([upstream, issuer]), life);
  };

  return {
    read,
    replace,
    put: async (name, grant) => {
      await remember(name);
      await records.set(keyOf(name), seal(name, grant), life);
      // Again, as whoever took the record of before may have forgotten the name since.
      await remember(name);
    },
    change: async (name, change) => {
      for (let tries = 0; tries < changesMax; tries += 1) {
        const held = await read(name);
        const changed = held === undefined ? undefined : change(held.grant);
        if (held === undefined || changed === undefined) return held?.grant;
        if ((await replace(held, changed)) !== undefined) return changed;
      }
      throw new Error("a grant changes faster than it can be written");
    },
    take: async (name) => {
      const sealed = await records.take(keyOf(name));
      await records.removeMember(setOf(name.person), JSON.stringify([name.upstream, name.issuer]));
      // Somebody connected in between, and had remembered the name before it was forgotten here.
      if ((await records.get(keyOf(name))) !== undefined) await remember(name);
      return sealed === undefined ? undefined : open(name, sealed);
    },
    touch: async (held) => {
      if (now() - held.grant.writtenAt < limits.grantTouchMs) return false;
      // Where somebody else wrote meanwhile, that writing is as good.
      await replace(held, held.grant);
      return true;
    },
    namesOf: async (person) => {
      const members = await records.members(setOf(person));
      return members.map((member) => nameFrom(person, member)).filter((name) => name !== undefined);
    },
  };
}

function partsOf({ person, upstream, issuer }: GrantName): readonly string[] {
  return [person.tenant, person.issuer, person.subject, upstream, issuer];
}

function associatedWith(name: GrantName): string {
  return JSON.stringify(["grant", ...partsOf(name)]);
}

export function digestOfName(name: GrantName): string {
  return createHash("sha256")
    .update(JSON.stringify(partsOf(name)))
    .digest("hex");
}

function keyOf(name: GrantName): RecordKey {
  return ["grant", name.person.tenant, digestOfName(name)];
}

function setOf({ tenant, issuer, subject }: Person): RecordKey {
  const digest = createHash("sha256")
    .update(JSON.stringify([tenant, issuer, subject]))
    .digest("hex");
  return ["grant-set", tenant, digest];
}

function nameFrom(person: Person, member: string): GrantName | undefined {
  const parts: unknown = JSON.parse(member);
  const list: readonly unknown[] = Array.isArray(parts) ? parts : [];
  const [upstream, issuer] = list;
  return typeof upstream === "string" && typeof issuer === "string" ? { person, upstream, issuer } : undefined;
}
