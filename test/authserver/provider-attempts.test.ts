import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createProviderAttempts, type Attempt, type ProviderAttempts } from "../../src/authserver/provider-attempts.ts";
import { limits } from "../../src/model/limits.ts";
import { createTestSealer } from "./fake-provider.ts";

const lifeMs = limits.oauthInteractionSeconds * 1_000;
const attempt: Attempt = { uid: "interaction-1", kept: "nonce.verifier" };
const sealer = createTestSealer();

/** One browser: it keeps the cookies that it is given. */
interface Jar {
  readonly cookies: Map<string, string>;
  keep(attempts: ProviderAttempts, attempt: Attempt): string;
  take(attempts: ProviderAttempts, state: string): Attempt | undefined;
}

function createJar(): Jar {
  const cookies = new Map<string, string>();
  const exchange = (): { req: IncomingMessage; res: ServerResponse } => {
    const req = new IncomingMessage(new Socket());
    req.headers.cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return { req, res: new ServerResponse(req) };
  };
  const receive = (res: ServerResponse): void => {
    for (const line of [res.getHeader("set-cookie") ?? []].flat().map(String)) {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=");
      if (line.includes("Max-Age=0;")) cookies.delete(name);
      else cookies.set(name, value);
    }
  };
  return {
    cookies,
    keep: (attempts, kept) => {
      const { req, res } = exchange();
      const state = attempts.newState();
      attempts.keep({ req, res }, state, kept);
      receive(res);
      return state;
    },
    take: (attempts, state) => {
      const { req, res } = exchange();
      const taken = attempts.take({ req, res }, state);
      receive(res);
      return taken;
    },
  };
}

function attemptsAt(clock: { now: number }, publicUrl = "https://gw.test"): ProviderAttempts {
  return createProviderAttempts({ publicUrl, sealer, now: () => clock.now });
}

interface Case {
  readonly what: string;
  readonly clock?: number;
  /** What happens between the way there and the way back; returns the state that comes back. */
  readonly meanwhile: (jar: Jar, state: string, attempts: ProviderAttempts) => string;
  readonly taken: Attempt | undefined;
}

const cases: readonly Case[] = [
  { what: "in the browser that began", meanwhile: (_jar, state) => state, taken: attempt },
  { what: "at the last moment", clock: lifeMs - 1, meanwhile: (_jar, state) => state, taken: attempt },
  { what: "once its time is over", clock: lifeMs, meanwhile: (_jar, state) => state, taken: undefined },
  {
    what: "in another browser",
    meanwhile: (jar, state) => {
      jar.cookies.clear();
      return state;
    },
    taken: undefined,
  },
  {
    what: "in another browser that began one as well",
    meanwhile: (jar, state, attempts) => {
      jar.cookies.clear();
      jar.keep(attempts, { uid: "theirs", kept: "theirs" });
      return state;
    },
    taken: undefined,
  },
  {
    what: "after it was altered",
    meanwhile: (jar, state) => {
      for (const [name, value] of jar.cookies) jar.cookies.set(name, `${value.slice(0, -2)}AA`);
      return state;
    },
    taken: undefined,
  },
  {
    what: "that another replica's secret sealed",
    meanwhile: (jar, state) => {
      const foreign = createProviderAttempts({
        publicUrl: "https://gw.test",
        sealer: createTestSealer(),
        now: () => 0,
      });
      const other = createJar();
      other.keep(foreign, attempt);
      const [value = ""] = other.cookies.values();
      for (const name of jar.cookies.keys()) jar.cookies.set(name, value);
      return state;
    },
    taken: undefined,
  },
  {
    what: "a second time",
    meanwhile: (jar, state, attempts) => {
      jar.take(attempts, state);
      return state;
    },
    taken: undefined,
  },
  {
    what: "of another interaction, whose cookie was put in its place",
    meanwhile: (jar, state, attempts) => {
      const [own = ""] = jar.cookies.keys();
      jar.keep(attempts, { uid: "interaction-2", kept: "other" });
      const [, other = ""] = jar.cookies.values();
      jar.cookies.set(own, other);
      return state;
    },
    taken: undefined,
  },
  {
    what: "beside another that is under way",
    meanwhile: (jar, state, attempts) => {
      jar.keep(attempts, { uid: "interaction-2", kept: "other" });
      return state;
    },
    taken: attempt,
  },
  {
    what: "after an answer with a state that is none of ours",
    meanwhile: (jar, state, attempts) => {
      for (const wrong of ["", "none", `${state}x`, state.replace(/\..*/, `.${"A".repeat(43)}`)])
        expect(jar.take(attempts, wrong)).toBeUndefined();
      return state;
    },
    taken: attempt,
  },
  {
    what: "for a state of another attempt",
    meanwhile: (_jar, _state, attempts) => attempts.newState(),
    taken: undefined,
  },
];

describe("an attempt at the company's provider is found", () => {
  it.each(cases)("$what: $taken", ({ clock = 0, meanwhile, taken }) => {
    const time = { now: 0 };
    const [jar, attempts] = [createJar(), attemptsAt(time)];
    const state = meanwhile(jar, jar.keep(attempts, attempt), attempts);
    time.now = clock;
    expect(jar.take(attempts, state)).toEqual(taken);
  });

  it("as long as the browser has few under way: the oldest is forgotten first", () => {
    const time = { now: Date.UTC(2030, 0) };
    const [jar, attempts] = [createJar(), attemptsAt(time)];
    const states = Array.from({ length: limits.oauthProviderAttemptsMax + 2 }, (_, index) => {
      time.now += 1;
      return jar.keep(attempts, { uid: String(index), kept: "k" });
    });
    expect(jar.cookies.size).toBe(limits.oauthProviderAttemptsMax);
    const found = states.map((state) => jar.take(attempts, state)?.uid);
    expect(found).toEqual(states.map((_, index) => (index < 2 ? undefined : String(index))));
    expect(jar.cookies.size).toBe(0);
  });
});

describe("what a browser is given for it", () => {
  it("tells it neither verifier nor interaction, and never fills the request's headers", () => {
    const [jar, attempts] = [createJar(), attemptsAt({ now: 0 })];
    const kept = `${"n".repeat(43)}.${"v".repeat(43)}`;
    for (let index = 0; index < 20; index += 1) jar.keep(attempts, { uid: "u".repeat(21), kept });
    const header = [...jar.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    expect(header).not.toMatch(/nnnn|vvvv|uuuu/);
    expect(header.length).toBeLessThan(limits.headerBytesMax / 2);
    for (const name of jar.cookies.keys()) expect(name).toMatch(/^__Host-sallyport_provider_/);
  });

  it("has a state that nobody guesses, and no two have the same", () => {
    const attempts = attemptsAt({ now: 0 });
    const states = Array.from({ length: 100 }, () => attempts.newState());
    expect(new Set(states.map((state) => state.split(".")[1])).size).toBe(100);
    for (const state of states) expect(state.split(".")[1]).toMatch(/^[\w-]{43}$/);
  });
});
