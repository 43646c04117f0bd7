import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { limits } from "../model/limits.ts";
import type { DemoUser } from "./options.ts";

/** The user whose password it is; `undefined` when it is nobody's; `busy` when too many checks are under way. */
export type CheckPassword = (username: string, password: string) => Promise<DemoUser | undefined | "busy">;

interface Verifier {
  readonly cost: { readonly N: number; readonly r: number; readonly p: number };
  readonly salt: Buffer;
  readonly key: Buffer;
}

const defaultCost = { N: 16_384, r: 8, p: 1 };
const keyBytes = 32;
const memoryBytesMax = 134_217_728;
const passwordCharsMax = 1_024;

/**
 * A password check that takes the same time for a wrong password and for an unknown name: a name
 * without a user is checked against a password nobody knows. Throws when a configured hash is
 * malformed or costs more than 128 MiB.
 */
export async function createPasswordCheck(users: readonly DemoUser[]): Promise<CheckPassword> {
  const known = new Map<string, { user: DemoUser; verifier: Verifier }>();
  for (const user of users) known.set(user.username, { user, verifier: await verifierFor(user) });
  const nobody = await makeVerifier(randomBytes(keyBytes).toString("base64url"));
  let underWay = 0;
  return async (username, password) => {
    if (underWay >= limits.oauthPasswordChecksMax) return "busy";
    underWay += 1;
    try {
      const entry = known.get(username);
      const right = await matches(password.slice(0, passwordCharsMax), entry?.verifier ?? nobody);
      return right ? entry?.user : undefined;
    } finally {
      underWay -= 1;
    }
  };
}

function verifierFor(user: DemoUser): Promise<Verifier> | Verifier {
  return user.password.startsWith("scrypt:") ? parseVerifier(user) : makeVerifier(user.password);
}

async function makeVerifier(password: string): Promise<Verifier> {
  const salt = randomBytes(16);
  return { cost: defaultCost, salt, key: await derive(password, salt, defaultCost, keyBytes) };
}

function parseVerifier(user: DemoUser): Verifier {
  const parts = /^scrypt:(\d+):(\d+):(\d+):([\w-]+):([\w-]+)$/.exec(user.password);
  const cost = { N: Number(parts?.[1]), r: Number(parts?.[2]), p: Number(parts?.[3]) };
  const salt = Buffer.from(parts?.[4] ?? "", "base64url");
  const key = Buffer.from(parts?.[5] ?? "", "base64url");
  const affordable = 128 * cost.N * cost.r <= memoryBytesMax && cost.p <= 16;
  if (!affordable || salt.byteLength < 8 || key.byteLength < 16) {
    throw new Error(`the password hash of user "${user.username}" is not scrypt:N:r:p:salt:key within 128 MiB`);
  }
  return { cost, salt, key };
}

async function matches(password: string, { cost, salt, key }: Verifier): Promise<boolean> {
  return timingSafeEqual(await derive(password, salt, cost, key.byteLength), key);
}

function derive(password: string, salt: Buffer, cost: Verifier["cost"], bytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, bytes, { ...cost, maxmem: memoryBytesMax * 2 }, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
