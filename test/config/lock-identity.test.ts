import { describe, expect, it } from "vitest";
import { lockIdentityOf } from "../../src/config/lock-identity.ts";
import { canary, changed, loadText } from "./load-text.ts";

describe("an upstream as the catalog lock knows it", () => {
  const credential = { type: "clientCredentials", issuer: "https://login.example.com", clientId: "gw" };

  it.each([
    [{ url: "https://crm.example.net/mcp" }, "https://crm.example.net/mcp", "none"],
    [{ url: "https://crm.example.net:443/mcp?key=hidden" }, "https://crm.example.net/mcp", "none"],
    [
      { url: "https://crm.example.net", credential: { type: "static", headers: { "x-key": "${env:SECRET}" } } },
      "https://crm.example.net/",
      "static",
    ],
    [
      { url: "https://crm.example.net/mcp", credential: { ...credential, clientSecret: "${env:SECRET}" } },
      "https://crm.example.net/mcp",
      "https://login.example.com",
    ],
  ])("%j is %s with %s, and no secret", (upstream, url, authorization) => {
    const loaded = loadText(changed(["upstreams.crm", upstream]));
    const identity = loaded.ok ? lockIdentityOf(loaded.config.upstreams["crm"]!) : undefined;
    expect(identity).toEqual({ url, authorization });
    expect(JSON.stringify(identity)).not.toMatch(new RegExp(`hidden|${canary}`));
  });
});
