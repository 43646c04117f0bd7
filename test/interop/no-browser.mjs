// Loaded before a program that would open a browser: says on stderr where it would have gone, and launches nothing.
import childProcess from "node:child_process";
import { EventEmitter } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { setImmediate } from "node:timers";

childProcess.spawn = (_command, args = []) => {
  const child = Object.assign(new EventEmitter(), { unref: () => undefined, pid: 0 });
  process.stderr.write(`browser: ${String(args.at(-1))}\n`);
  setImmediate(() => child.emit("spawn"));
  setImmediate(() => child.emit("exit", 0));
  return child;
};
syncBuiltinESMExports();
