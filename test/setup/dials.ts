import { Socket } from "node:net";

/** Addresses, with their ports, to which this process has begun to connect since. */
export interface Dials {
  readonly addresses: readonly string[];
  stop(): void;
}

/** Watches every socket of this process. What a guard refuses before an address is dialled does not show. */
export function watchDials(): Dials {
  const addresses: string[] = [];
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function (this: Socket, ...given: unknown[]): Socket {
    this.on("connectionAttempt", (address: string, port: number) => addresses.push(`${address}:${port}`));
    return Reflect.apply(connect, this, given) as Socket;
  };
  const stop = (): void => {
    Socket.prototype.connect = connect;
  };
  return { addresses, stop };
}
