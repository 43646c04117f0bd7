import { describe, expect, it } from "vitest";
import { protectedResourceMetadata, protectedResourceMetadataUrl } from "../../src/auth/protected-resource.ts";

describe("protectedResourceMetadataUrl", () => {
  it.each([
    ["https://gw.test/support/mcp", "https://gw.test/.well-known/oauth-protected-resource/support/mcp"],
    ["https://gw.test:8443/a/mcp", "https://gw.test:8443/.well-known/oauth-protected-resource/a/mcp"],
    ["https://gw.test/a/mcp/", "https://gw.test/.well-known/oauth-protected-resource/a/mcp/"],
    ["https://gw.test:443/a/mcp", "https://gw.test/.well-known/oauth-protected-resource/a/mcp"],
    ["https://gw.test", "https://gw.test/.well-known/oauth-protected-resource"],
    ["https://gw.test/", "https://gw.test/.well-known/oauth-protected-resource"],
  ])("inserts the well-known part of %s between origin and path", (resource, expected) => {
    expect(protectedResourceMetadataUrl(resource)).toBe(expected);
  });
});

describe("protectedResourceMetadata", () => {
  const about = { resource: "https://gw.test/a/mcp", issuer: "https://login.test", name: "A" };

  it("names the resource byte for byte and one authorization server", () => {
    expect(protectedResourceMetadata({ ...about, scopes: ["a", "b"] })).toEqual({
      resource: "https://gw.test/a/mcp",
      authorization_servers: ["https://login.test"],
      scopes_supported: ["a", "b"],
      bearer_methods_supported: ["header"],
      resource_name: "A",
    });
  });

  it("never offers offline_access", () => {
    expect(protectedResourceMetadata({ ...about, scopes: ["a", "offline_access"] })["scopes_supported"]).toEqual(["a"]);
  });

  it("leaves the scopes out when there are none", () => {
    expect(protectedResourceMetadata({ ...about, scopes: ["offline_access"] })).not.toHaveProperty("scopes_supported");
  });
});
