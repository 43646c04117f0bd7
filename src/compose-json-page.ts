import type { IncomingMessage, ServerResponse } from "node:http";

interface Visit {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly type: string;
}

/** Answers with a public document that everybody may keep for five minutes; 503 when it cannot be had just now. */
export async function answerJson({ req, res, type }: Visit, read: () => Promise<object>): Promise<void> {
  if (req.method !== "GET" && req.method !== "HEAD") {
    res.writeHead(405, { allow: "GET, HEAD" }).end();
    return;
  }
  const found = await read().catch(() => undefined);
  if (found === undefined) {
    res.writeHead(503, { "retry-after": "5" }).end();
    return;
  }
  const text = JSON.stringify(found);
  const headers = { "content-type": type, "cache-control": "public, max-age=300", "x-content-type-options": "nosniff" };
  res.writeHead(200, { ...headers, "content-length": Buffer.byteLength(text) });
  res.end(req.method === "HEAD" ? undefined : text);
}
