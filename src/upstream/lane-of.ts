/** Which connections a request of a client goes over. `tasks/result` waits for the end of its task, as a call does. */
export function laneOf(method: string): "calls" | "recovery" {
  return recovery.has(method) ? "recovery" : "calls";
}

const recovery: ReadonlySet<string> = new Set(["tasks/get", "tasks/cancel"]);
