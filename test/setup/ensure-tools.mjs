/**
 * Makes sure that the tests have a real Redis. Runs before `npm test`: a law about a store that is slow
 * or gone is only proven against the real server, so nothing is skipped when it is missing.
 *
 * Where it may (root, and apt-get exists) it installs Debian's `redis-server`, without letting the
 * package start a service: the tests start their own servers on free ports and end those alone.
 */
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

const policyFile = "/usr/sbin/policy-rc.d";

function works(command, args) {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? `exit ${status}`}`);
}

/** While this file answers 101 ("action forbidden by policy"), Debian's packages start no service. */
function withoutStartingServices(install) {
  const ours = !existsSync(policyFile);
  if (ours) writeFileSync(policyFile, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    install();
  } finally {
    if (ours) rmSync(policyFile, { force: true });
  }
}

function fail(reason) {
  console.error(
    [
      `The tests need redis-server (6.2 or later) on the PATH, and ${reason}.`,
      "  Debian, Ubuntu:  sudo apt-get install redis-server   (then: sudo systemctl disable --now redis-server)",
      "  macOS:           brew install redis",
      "  Fedora:          sudo dnf install redis",
    ].join("\n"),
  );
  process.exit(1);
}

if (!works("redis-server", ["--version"])) {
  if (process.getuid?.() !== 0) fail("only root may install it here");
  if (!works("apt-get", ["--version"])) fail("apt-get, the one installer this script knows, is not here");
  try {
    withoutStartingServices(() => {
      run("apt-get", ["update", "-qq"]);
      run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "redis-server"]);
    });
  } catch (error) {
    fail(`installing it did not work (${error.message})`);
  }
  if (!works("redis-server", ["--version"])) fail("it is missing after its installation");
  console.log("redis-server was installed for the tests.");
}
