import type { Refusal } from "../model/refusal.ts";
import type { RpcError, RpcResponse } from "../model/rpc.ts";

/** What one HTTP exchange with an upstream came to, before anybody decides what that means. */
export type Reply =
  /** A JSON-RPC response that carries exactly the id that was sent, under whatever status. */
  | {
      readonly kind: "response";
      readonly status: number;
      readonly response: RpcResponse;
      readonly sessionId: string | undefined;
      readonly challenge: string | undefined;
      readonly bytes: number;
    }
  /** A 2xx to a message that expects no answer. */
  | { readonly kind: "accepted"; readonly status: number; readonly sessionId: string | undefined }
  /** A status other than 2xx; `error` when its body was a JSON-RPC error without an id. */
  | {
      readonly kind: "status";
      readonly status: number;
      /** `WWW-Authenticate` (RFC 9110 §11.6.1), as it came. */
      readonly challenge: string | undefined;
      readonly error: RpcError | undefined;
    }
  /** No answer. `sent` is false only when certainly no byte of the request was written. */
  | {
      readonly kind: "none";
      readonly refusal: Refusal;
      readonly sent: boolean;
      /** A JSON-RPC error without an id that came with a 2xx. */
      readonly error: RpcError | undefined;
    };
