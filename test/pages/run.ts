/* eslint-disable no-console -- a command whose output is its result */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startBench } from "../connect/connect-bench.ts";
import { ok } from "../../src/model/result.ts";
import { authorizationUrl, registerPublic, startHarness } from "../authserver/harness.ts";
import { openChromium } from "./chromium.ts";
import type { Tab } from "./chromium.ts";
import { startTlsFront } from "./tls-front.ts";

/**
 * The pages in a real Chromium over https, by keyboard alone, on a viewport as wide as a small phone's. It installs
 * nothing, and fails when there is no Chromium. `SALLYPORT_SCREENSHOTS=folder` keeps a picture of each page there.
 */
const widthPx = 360;
const pictures = process.env["SALLYPORT_SCREENSHOTS"];
let checks = 0;
const faults: string[] = [];

function check(holds: boolean, what: string): void {
  checks += 1;
  if (!holds) faults.push(what);
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
}

/** What must hold of each page, whatever it is for. */
async function look(tab: Tab, page: string): Promise<void> {
  const width = await tab.read<number>("document.documentElement.scrollWidth");
  check(width <= widthPx, `${page}: no horizontal scroll (${width} px of ${widthPx})`);
  const small = await tab.read<number>(
    `[...document.querySelectorAll("button,a.go,input:not([type=hidden])")].filter((e) => e.getBoundingClientRect().height < 40).length`,
  );
  check(small === 0, `${page}: everything to touch is 40 px high or more`);
  const unlabelled = await tab.read<number>(
    `[...document.querySelectorAll("input:not([type=hidden])")].filter((e) => e.labels.length === 0).length`,
  );
  check(unlabelled === 0, `${page}: every field has a label`);
  check((await tab.read<number>("document.scripts.length")) === 0, `${page}: no script`);
  check(tab.complaints.length === 0, `${page}: nothing was blocked (${tab.complaints.join("; ")})`);
  if (pictures !== undefined)
    await writeFile(join(pictures, `${page.replaceAll(" ", "-")}.png`), await tab.screenshot());
}

/** Tabs until the focus is on `selector`, which must then be seen. */
async function tabTo(tab: Tab, selector: string, page: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await tab.read<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`)) break;
    await tab.press("Tab");
  }
  const seen = `(() => { const s = getComputedStyle(document.activeElement); return document.activeElement.matches(${JSON.stringify(selector)}) && s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2; })()`;
  check(await tab.read<boolean>(seen), `${page}: ${selector} is reached by keyboard, and the focus is seen`);
}

async function fill(tab: Tab, page: string, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) {
    await tabTo(tab, `#${name}`, page);
    await tab.type(value);
  }
}

const heading = (text: string): string => `document.querySelector("h1")?.textContent === ${JSON.stringify(text)}`;

/** The authorization server's own pages: sign-in and consent. */
async function authorizationPages(tab: Tab): Promise<void> {
  const front = await startTlsFront();
  const harness = await startHarness({ publicUrl: front.origin });
  front.target = harness.origin;
  const client = await registerPublic(harness);
  const query = authorizationUrl(harness, client).search;
  await tab.open(`${front.origin}/authorize${query}`);
  await look(tab, "authorize sign-in");
  await fill(tab, "authorize sign-in", { username: "ada", password: "correct horse" });
  await tab.press("Enter");
  await tab.until(heading("Allow access?"));
  await look(tab, "authorize consent");
  await tabTo(tab, `button[value="go"]`, "authorize consent");
  await harness.close();
  await front.close();
}

/** A page on another site, where an upstream's authorization server sends the browser back at once. */
async function startAuthorizationServer(back: () => string): Promise<{ origin: string; close(): void }> {
  const server = createServer((_req, res) => {
    res.writeHead(302, { location: back() }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The connect pages: sign-in, home, consent, the way over another site and back, revoke, sign out. */
async function connectPages(tab: Tab): Promise<void> {
  const front = await startTlsFront();
  const elsewhere = await startAuthorizationServer(() => `${front.origin}/connect/granted?code=c1&state=s1`);
  const bench = await startBench({ publicUrl: front.origin });
  const { grants } = bench;
  const begin = grants.begin.bind(grants);
  grants.begin = async (request) => {
    const begun = await begin(request);
    return begun.ok ? ok({ ...begun.value, url: `${elsewhere.origin}/authorize?state=s1` }) : begun;
  };
  front.target = bench.origin;
  const owner = { tenant: "default", issuer: "https://issuer.example", subject: "ada", clientId: "desktop" };

  await tab.open(bench.links.make(owner, "tickets"));
  await look(tab, "connect sign-in");
  await fill(tab, "connect sign-in", { username: "ada", password: "right" });
  await tab.press("Enter");
  await tab.until(heading("Connect Tickets?"));
  await look(tab, "connect consent");
  await tabTo(tab, `button[value="go"]`, "connect consent");
  await tab.press("Enter");
  await tab.until(heading("Connected"));
  check(true, "connect consent: leads over the other site and back without a script");
  await look(tab, "connect done");

  await tab.open(`${front.origin}/connect`);
  await look(tab, "connect home");
  await tabTo(tab, "details summary", "connect home");
  await tab.press("Enter");
  await tab.until(`document.querySelector("details")?.open`);
  await look(tab, "connect home with a command");
  await tab.open(`${front.origin}/connect`);
  await tabTo(tab, `form[action="/connect/revoke"] button`, "connect home");
  await tab.press("Space");
  await tab.until(heading("Revoked"));
  await look(tab, "connect revoked");

  await tab.open(bench.links.make({ ...owner, subject: "bob" }, "tickets"));
  check(await tab.read<boolean>(heading("This was refused")), "a link of somebody else: refused");
  const refusedPage = tab.complaints.splice(0);
  check(
    refusedPage.every((text) => text.includes("403")),
    "a link of somebody else: the browser notes the 403 alone",
  );
  await look(tab, "connect refused");
  await tabTo(tab, `form[action="/connect/sign-out"] button`, "connect refused");
  await tab.press("Enter");
  await tab.until(heading("Sign in"));
  await bench.close();
  elsewhere.close();
  await front.close();
}

const tab = await openChromium(widthPx);
try {
  await authorizationPages(tab);
  await connectPages(tab);
} finally {
  await tab.close();
}
console.log(`pages: ${checks - faults.length} of ${checks} checks passed`);
process.exitCode = faults.length === 0 ? 0 : 1;
