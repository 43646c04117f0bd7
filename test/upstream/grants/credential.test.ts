import { describe, expect, it } from "vitest";
import { principalKey, type Principal } from "../../../src/model/principal.ts";
import { userGrantCredential, type CallerAccount } from "../../../src/upstream/grants/user-grant-credential.ts";
import { asAda, benchFor, connect, editor, outcome, provider, tokenOf, valueOf } from "./bench.ts";

function accountOf(subject: string, clientId = editor): CallerAccount {
  const who = { tenant: "default", issuer: "https://idp.test", kind: "human", subject, clientId } as const;
  const principal: Principal = {
    ...who,
    issuerAlias: "idp",
    groups: [],
    scopes: [],
    claims: {},
    expiresAt: 0,
    key: principalKey(who),
  };
  return { caller: { principal } };
}

const gateway: CallerAccount = { caller: undefined };

describe("the credential of a user's grant", () => {
  it("shows the upstream the token of the very person who calls, and of nobody else", async () => {
    const bench = benchFor((await provider()).url);
    valueOf(await connect(bench));
    const credential = userGrantCredential("up", bench.grants.tokens, bench.options.limits);
    expect(outcome(await credential.headers(accountOf("ada")))).toEqual([
      "authorization",
      `Bearer ${await tokenOf(bench)}`,
    ]);
    expect(outcome(await credential.headers(accountOf("bob")))).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(outcome(await credential.headers(accountOf("ada", "other")))).toBe(
      "UPSTREAM_CONNECTION_REQUIRED not-consented",
    );
    expect(outcome(await credential.headers(gateway))).toBe("UPSTREAM_CONNECTION_REQUIRED no-person");
  });

  it("differs by person, stays through a refresh, and names neither in clear", async () => {
    const bench = benchFor((await provider()).url);
    const credential = userGrantCredential("up", bench.grants.tokens, bench.options.limits);
    const of = (account: CallerAccount): string => credential.generation(account);
    expect(new Set([of(accountOf("ada")), of(accountOf("bob")), of(gateway)]).size).toBe(3);
    expect(of(accountOf("ada"))).toBe(of(accountOf("ada", "other")));
    expect(of(accountOf("ada"))).toMatch(/^[0-9a-f]{32}$/);
  });

  it("is another after the upstream answered 401", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const credential = userGrantCredential("up", bench.grants.tokens, bench.options.limits);
    const used = valueOf(await credential.headers(accountOf("ada")));
    const renewed = valueOf(await credential.renew(accountOf("ada"), used));
    expect(renewed).not.toEqual(used);
    expect(renewed).toEqual(valueOf(await credential.headers(accountOf("ada"))));
    expect(at.refreshes()).toBe(1);
    expect(outcome(await credential.renew(gateway, used))).toBe("UPSTREAM_CONNECTION_REQUIRED no-person");
  });

  it("of which the upstream says that scopes are missing sends the person to connect again", async () => {
    const bench = benchFor((await provider()).url);
    valueOf(await connect(bench));
    const credential = userGrantCredential("up", bench.grants.tokens, bench.options.limits);
    const forbidden = (header: string | undefined): Promise<unknown> => credential.forbidden(accountOf("ada"), header);
    expect(await forbidden('Bearer error="insufficient_scope", scope="write"')).toMatchObject({
      refusal: { code: "UPSTREAM_CONNECTION_REQUIRED", facts: { reason: "scope-insufficient" } },
    });
    expect(await forbidden('Bearer error="invalid_token"')).toBeUndefined();
    expect(await forbidden(undefined)).toBeUndefined();
    expect(outcome(await bench.grants.pages.describe(asAda.person, "up"))).toMatchObject({
      reason: "scope-insufficient",
    });
  });
});
