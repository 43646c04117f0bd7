/**
 * Makes sure that the tests have a real Redis, and openssl to make certificates. Runs before `npm test`: a law
 * about a store that is slow or gone is only proven against the real server, so nothing is skipped when it is missing.
 *
 * Where it may (root, and apt-get exists) it installs Debian's packages, without letting them start a service:
 * the tests start their own servers on free ports and end those alone.
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

function fail(missing, reason) {
  console.error(
    [
      `The tests need ${missing.join(" and ")} on the PATH, and ${reason}.`,
      "  Debian, Ubuntu:  sudo apt-get install redis-server openssl   (then: sudo systemctl disable --now redis-server)",
      "  macOS:           brew install redis openssl",
      "  Fedora:          sudo dnf install redis openssl",
    ].join("\n"),
  );
  process.exit(1);
}

/** Each program with the question that it answers wherever it works, and the Debian package that has it. */
const tools = [
  { program: "redis-server", question: ["--version"], debian: "redis-server" },
  { program: "openssl", question: ["version"], debian: "openssl" },
];

const absent = () => tools.filter(({ program, question }) => !works(program, question));
const missing = absent();
const names = missing.map(({ program }) => program);

if (missing.length > 0) {
  if (process.getuid?.() !== 0) fail(names, "only root may install it here");
  if (!works("apt-get", ["--version"])) fail(names, "apt-get, the one installer this script knows, is not here");
  try {
    withoutStartingServices(() => {
      run("apt-get", ["update", "-qq"]);
      run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...missing.map(({ debian }) => debian)]);
    });
  } catch (error) {
    fail(names, `installing it did not work (${error.message})`);
  }
  if (absent().length > 0) fail(names, "it is missing after its installation");
  console.log(`${names.join(" and ")} was installed for the tests.`);
}
