import { Pool } from "undici";

/** One kind of request, sent over and over. */
export interface Request {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** By the number of the request. */
  readonly body: (at: number) => string;
  /** What every answer must contain: a refusal in the form of a result must not pass for a fast answer. */
  readonly marker: string;
}

export interface Load {
  /** Sends so many requests, `connectionsMax` at a time. Rejects as soon as one is not answered as it must be. */
  send(count: number): Promise<void>;
  close(): Promise<void>;
}

const connectionsMax = 32;

/** A closed loop over kept connections. */
export function createLoad(port: number, request: Request): Load {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: connectionsMax, pipelining: 1 });
  let sent = 0;

  async function worker(until: number): Promise<void> {
    while (sent < until) {
      sent += 1;
      const { path, headers, body } = request;
      const answer = await pool.request({ method: "POST", path, headers, body: body(sent) });
      const text = await answer.body.text();
      if (answer.statusCode !== 200 || !text.includes(request.marker))
        throw new Error(`answered ${answer.statusCode}: ${text.slice(0, 500)}`);
    }
  }

  return {
    send: async (count) => {
      const until = sent + count;
      await Promise.all(Array.from({ length: connectionsMax }, () => worker(until)));
    },
    close: () => pool.close(),
  };
}
