import process, { argv } from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayOptions } from "../journey/gateway-under-test.ts";
import type { Figures } from "./probed-process.ts";

/** A gateway in a process of its own, which tells its parent what it holds. Runs with `--expose-gc`. */
const gateway = await startGatewayUnderTest(JSON.parse(argv[2] ?? "{}") as GatewayOptions);

async function measure(): Promise<Figures> {
  // Finalizers of what one collection found run before the next.
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await pause(50);
  }
  const { heapUsed, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const count = (kind: string): number => resources.filter((resource) => resource === kind).length;
  return { bytes: heapUsed + external, timers: count("Timeout"), sockets: count("TCPSocketWrap") };
}

process.on("message", (asked) => {
  if (asked === "measure") void measure().then((figures) => process.send?.(figures));
  if (asked === "stop") void gateway.remove().then(() => process.exit(0));
});
process.send?.({ port: gateway.port, publicUrl: gateway.publicUrl });
