import type { IncomingMessage, ServerResponse } from "node:http";
import { errors } from "oidc-provider";
import type Provider from "oidc-provider";
import type { Interaction, InteractionResults } from "oidc-provider";
import { messagePage, sendRedirect } from "../web/page.ts";
import type { Page } from "../web/page.ts";

/** One request to a page of ours. `req` is the copy made for the library, which reads its cookies. */
export interface PageRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly uid: string;
}

/** The interaction that the library's signed cookie names as this browser's. */
export async function findInteraction(
  provider: Provider,
  { req, res }: Pick<PageRequest, "req" | "res">,
): Promise<Interaction | undefined> {
  try {
    return await provider.interactionDetails(req, res);
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}

/** Hands the library what came out of an interaction, and the browser back to it. */
export async function finishInteraction(
  interaction: Interaction,
  res: ServerResponse,
  result: InteractionResults,
): Promise<void> {
  interaction.result = result;
  await interaction.persist();
  sendRedirect(res, interaction.returnTo);
}

/**
 * What the library is told of a sign-in that was found good no earlier than `since`, in milliseconds since the epoch.
 * The time is said aloud: left to itself the library takes that of the moment at which the browser comes back, and what
 * ended the sign-in in between would seem to be older than it.
 */
export function signedInAt(subject: string, since: number): NonNullable<InteractionResults["login"]> {
  return { accountId: subject, ts: Math.floor(since / 1_000), remember: false };
}

/**
 * Ends the browser's session when somebody else signs in over it. Left to itself the library would
 * answer with a self-submitting page of its own here.
 */
export async function leaveOtherSession(
  provider: Provider,
  { req, res }: Pick<PageRequest, "req" | "res">,
  { interaction, subject }: { readonly interaction: Interaction; readonly subject: string },
): Promise<void> {
  const session = await provider.Session.get(provider.createContext(req, res));
  if (session.accountId === undefined || session.accountId === subject) return;
  await session.destroy();
  interaction.session = undefined;
}

export function lostPage(): Page {
  return messagePage(
    "This sign-in cannot be continued",
    "It was begun in another browser, has expired, or is already finished. Start again from the application.",
  );
}

/** For whoever proved who they are and is on the deny list. */
export function deniedPage(): Page {
  return messagePage("You are not let in", "Your access has been ended. Ask whoever runs this service.");
}
