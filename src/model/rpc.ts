import type { Json, JsonObject } from "./json.ts";
import type { ExactNumber } from "./json.ts";

/** A request id with its exact JSON type (JSON-RPC 2.0 §4). */
export type RpcId = string | number | ExactNumber;

export interface RpcRequest {
  readonly kind: "request";
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject | undefined;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

export type RpcResponse =
  | { readonly kind: "response"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly kind: "response"; readonly id: RpcId | undefined; readonly error: RpcError };

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;
