import type { Config } from "./config/types.ts";
import type { ListenerTls } from "./edge/public-server.ts";

/** TLS of the public listener; undefined where it ends in front of the gateway. */
export function listenerTls({ listen }: Config): ListenerTls | undefined {
  if (listen.tls === undefined) return undefined;
  const { cert, key, clientCa } = listen.tls;
  return { cert: cert.reveal(), key: key.reveal(), clientCa: clientCa?.reveal() };
}
