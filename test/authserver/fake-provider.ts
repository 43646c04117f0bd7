import type {
  ProviderFinished,
  ProviderPerson,
  ProviderRechecked,
  ProviderSignIn,
  Sealer,
} from "../../src/authserver/port.ts";
import { createAead } from "../../src/gateway/aead.ts";
import { randomBytes } from "node:crypto";

/** A company's provider whose answers a test writes. */
export interface FakeProvider extends ProviderSignIn {
  finished: ProviderFinished;
  rechecked: ProviderRechecked | (() => Promise<ProviderRechecked>);
  available: boolean;
  readonly rechecks: string[];
  /** What `finish` was given, in order. */
  readonly finishes: { readonly kept: string; readonly redirectUri: string; readonly parameters: string }[];
}

export const grace: ProviderPerson = {
  subject: "p-grace",
  name: "Grace H",
  groups: ["support"],
  refresh: "provider-refresh-1",
};

export function createFakeProvider(person: ProviderPerson = grace): FakeProvider {
  let begun = 0;
  const provider: FakeProvider = {
    finished: { ok: true, person },
    rechecked: { kind: "there", person },
    available: true,
    rechecks: [],
    finishes: [],
    begin: ({ state, redirectUri, loginHint }) => {
      if (!provider.available) return Promise.resolve({ ok: false, reason: "down" });
      begun += 1;
      const url = new URL("https://idp.test/authorize");
      url.search = new URLSearchParams({ state, redirect_uri: redirectUri, hint: loginHint ?? "" }).toString();
      return Promise.resolve({ ok: true, url: url.href, kept: `verifier-${String(begun)}` });
    },
    finish: ({ kept, redirectUri, parameters }) => {
      provider.finishes.push({ kept, redirectUri, parameters: parameters.toString() });
      return Promise.resolve(provider.finished);
    },
    recheckLockMs: 15_000,
    recheck: async (refresh) => {
      provider.rechecks.push(refresh);
      return typeof provider.rechecked === "function" ? provider.rechecked() : provider.rechecked;
    },
  };
  return provider;
}

export function createTestSealer(): Sealer {
  const aead = createAead({ current: { kid: "test", key: randomBytes(32) }, previous: [] }, randomBytes);
  return {
    seal: (associated, text) => aead.encrypt(associated, new Uint8Array(), text),
    open: (associated, sealed) => {
      const opened = aead.decrypt(associated, 0, sealed);
      return opened.ok ? opened.text : undefined;
    },
  };
}
