import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBrowser, hiddenToken } from "../authserver/browser.ts";
import type { Browser, View } from "../authserver/browser.ts";
import { people, startBench } from "./connect-bench.ts";
import type { Bench } from "./connect-bench.ts";

let bench: Bench;
let browser: Browser;

beforeEach(async () => {
  bench = await startBench();
  browser = createBrowser();
});
afterEach(() => bench.close());

const signInPage = "<h1>Sign in</h1>";
const ada = { ...people["ada"]!.person, clientId: "desktop" };

async function signIn(by = browser, path = "/connect"): Promise<View> {
  const page = await by.open(bench.origin + path);
  const form = { ...page, url: new URL("/connect/sign-in", bench.origin) };
  return by.submit(form, { token: hiddenToken(page), way: "local", target: path, username: "ada", password: "right" });
}

const home = async (by = browser): Promise<string> => (await by.open(`${bench.origin}/connect`)).text;

describe("somebody whose access was ended, and who is let in again", () => {
  it("is signed out in every browser of before, at whatever page, and for good", async () => {
    const browsers = [browser, createBrowser()];
    for (const by of browsers) await signIn(by);
    bench.ended.set("ada", bench.now());
    expect((await browser.open(`${bench.origin}/connect/tickets`)).text).toContain(signInPage);
    expect(await home(browsers[1])).toContain(signInPage);
    bench.ended.clear();
    for (const by of browsers) expect(await home(by)).toContain(signInPage);
  });

  it("stays signed in where that was done afterwards", async () => {
    bench.ended.set("ada", bench.now());
    bench.advance(1);
    await signIn();
    expect(await home()).toContain("Your connections");
  });

  it("is not signed in by a sign-in that was under way when it ended", async () => {
    await bench.close();
    bench = await startBench({
      isDenied: ({ subject }) => {
        const nobody = !bench.ended.has(subject);
        if (nobody) bench.ended.set(subject, bench.now());
        return Promise.resolve(false);
      },
    });
    await signIn();
    expect(await home()).toContain(signInPage);
  });

  it("finds that a link of before leads where it did, once they have signed in anew: it never let anybody in", async () => {
    const link = bench.links.make(ada, "tickets").slice(bench.origin.length);
    bench.ended.set("ada", bench.now());
    expect((await browser.open(bench.origin + link)).text).toContain(signInPage);
    bench.advance(1);
    expect((await signIn(browser, link)).text).toContain("Connect Tickets?");
  });
});

describe("a connection that is made while its person is put out", () => {
  async function agreed(): Promise<void> {
    const page = await signIn(browser, "/connect/tickets");
    await browser.submit(page, {});
  }
  const finish = (): Promise<View> => browser.open(`${bench.origin}/connect/granted?code=c1&state=s1`);

  it.each<[string, () => void]>([
    ["denied", () => void bench.denied.add("ada")],
    ["ended, and let in again at once", () => void bench.ended.set("ada", bench.now())],
  ])("is ended again: %s", async (_how, putOut) => {
    await agreed();
    const exchange = bench.grants.finish.bind(bench.grants);
    bench.grants.finish = async (request) => {
      const finished = await exchange(request);
      putOut();
      return finished;
    };
    const view = await finish();
    expect([view.status, bench.refusals.at(-1)?.code]).toEqual([403, "SIGNIN_DENIED"]);
    expect(bench.grants.grants.size).toBe(0);
    expect(bench.events).not.toContain("connect.granted");
  });

  it("and stays where nobody was", async () => {
    await agreed();
    expect((await finish()).text).toContain("Connected");
    expect(bench.grants.grants.size).toBe(1);
  });
});
