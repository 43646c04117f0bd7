import { expect, it } from "vitest";
import { createBrowser } from "../authserver/browser.ts";
import { authorizationUrl, registerPublic, startHarness } from "../authserver/harness.ts";

it("two applications that register are two, and neither may send people to where the other is", async () => {
  const harness = await startHarness();
  const uris = ["https://one.test/cb", "https://two.test/cb"];
  const ids = await Promise.all([...uris, ...uris].map((uri) => registerPublic(harness, [uri])));
  expect(new Set(ids).size).toBe(4);
  for (const [at, id] of ids.entries()) {
    for (const [of, uri] of uris.entries()) {
      const view = await createBrowser().open(authorizationUrl(harness, id, { redirect_uri: uri }));
      expect([id, uri, view.status, view.left]).toEqual([id, uri, at % 2 === of ? 200 : 400, undefined]);
    }
  }
  await harness.close();
});
