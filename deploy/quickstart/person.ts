import { randomUUID } from "node:crypto";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { signInHeadlessly } from "./sign-in.ts";

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** One person at one application: what the application keeps of the sign-in, and the browser it opens. */
export interface Person {
  readonly username: string;
  /** What both SDKs ask for. It knows no server: everything has to come from discovery. */
  readonly provider: OAuthClientProvider;
  readonly accessToken: () => string | undefined;
  /** The scopes of the token, as the authorization server reported them. */
  readonly scopes: () => string;
  /** Opens the page the application sent the person to, signs in, allows, and returns what comes back. */
  signIn(): Promise<URLSearchParams>;
}

const redirectUrl = "http://127.0.0.1:49152/callback";

export function createPerson({ username, password }: Login): Person {
  const kept = {
    client: undefined as StoredOAuthClientInformation | undefined,
    tokens: undefined as StoredOAuthTokens | undefined,
    verifier: "",
    state: "",
    sentTo: undefined as URL | undefined,
    discovered: undefined as OAuthDiscoveryState | undefined,
  };
  return {
    username,
    provider: providerOf(kept),
    accessToken: () => kept.tokens?.access_token,
    scopes: () => kept.tokens?.scope ?? "",
    signIn: async () => {
      if (kept.sentTo === undefined) throw new Error("the application has sent nobody to sign in");
      const back = await signInHeadlessly({ authorizationUrl: kept.sentTo, username, password });
      if (back.searchParams.get("state") !== kept.state) throw new Error("the answer belongs to another sign-in");
      return back.searchParams;
    },
  };
}

interface Kept {
  client: StoredOAuthClientInformation | undefined;
  tokens: StoredOAuthTokens | undefined;
  verifier: string;
  state: string;
  sentTo: URL | undefined;
  discovered: OAuthDiscoveryState | undefined;
}

function providerOf(kept: Kept): OAuthClientProvider {
  return {
    redirectUrl,
    clientMetadata: {
      client_name: "Sallyport quickstart",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => (kept.state = randomUUID()),
    clientInformation: () => kept.client,
    saveClientInformation: (information) => {
      kept.client = information;
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens;
    },
    redirectToAuthorization: (url) => {
      kept.sentTo = url;
    },
    saveCodeVerifier: (verifier) => {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (state) => {
      kept.discovered = state;
    },
    discoveryState: () => kept.discovered,
  };
}
