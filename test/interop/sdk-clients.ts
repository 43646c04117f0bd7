import { createClient, isUnauthorized } from "../../deploy/quickstart/clients.ts";
import type { SdkClient, Kind } from "../../deploy/quickstart/clients.ts";
import type { Person } from "../../deploy/quickstart/person.ts";

/** Connects a client that knows the server's URL only, sending the person to sign in when it is told to. */
export async function connect(kind: Kind, url: string, person: Person): Promise<SdkClient> {
  const first = createClient({ kind, url, person, listens: true });
  try {
    await first.connect();
    return first;
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
  }
  await first.finishAuth(await person.signIn());
  await first.close();
  const second = createClient({ kind, url, person, listens: true });
  await second.connect();
  return second;
}
