import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { readPolicyArguments } from "../../src/cli/policy-arguments.ts";
import { policy } from "../../src/cli/policy.ts";
import { shownItems } from "../../src/compose-shown-items.ts";
import { captured, env, folderOf } from "./workspace.ts";

const root = resolve(import.meta.dirname, "../..");
const manual = readFileSync(join(root, "docs/policy.md"), "utf8");
const config = join(root, "test/policy/examples/sallyport.yaml");

/** The first code block of the manual that begins with this fence, from a place on. */
function block(fence: string, from = 0): string {
  const start = manual.indexOf(`\`\`\`${fence}\n`, from);
  const begin = manual.indexOf("\n", start) + 1;
  return start < 0 ? "" : manual.slice(begin, manual.indexOf("```", begin));
}

async function run(line: string): Promise<{ readonly code: number; readonly out: string }> {
  const read = readPolicyArguments(line.split(" "));
  if (read.command !== "policy") throw new Error(JSON.stringify(read));
  const output = captured();
  const code = await policy({ order: read.order }, { env, output, now: () => 0, shownItems });
  return { code, out: output.stdout.join("\n") };
}

it("the manual's explanation is what the command says", async () => {
  const at = folderOf({ "ada.yaml": block("yaml principal"), "phone.yaml": "{ id: '7', fields: [phone] }" });
  const command = block("sh", manual.indexOf("### Explain")).trim().replace("sallyport policy ", "");
  const line = command.replace("sallyport.yaml", config).replaceAll(/(ada|phone)\.yaml/gu, (name) => join(at, name));
  const { code, out } = await run(line);
  expect(code).toBe(0);
  const said = block("text", manual.indexOf("### Explain")).trimEnd();
  expect(out.replaceAll(`${root}/`, "")).toBe(said);
});

it("the manual's cases hold of the policies that they are about", async () => {
  const policies = { "support.yaml": readFileSync(join(root, "policies/support.yaml"), "utf8") };
  const at = folderOf({ ...policies, "support.cases.yaml": block("yaml cases") });
  expect(await run(`test -c ${config} --policies ${at}`)).toEqual({ code: 0, out: "2 of 2 cases hold" });
});

it("the manual names every finding of lint", () => {
  const source = readFileSync(join(root, "src/policy/lint.ts"), "utf8");
  const ids = [...(/export type LintId =([^;]*);/u.exec(source)?.[1] ?? "").matchAll(/"([a-z-]+)"/gu)].map(
    ([, id]) => id ?? "",
  );
  expect(ids.length).toBeGreaterThan(5);
  expect(ids.filter((id) => !manual.includes(`| \`${id}\``))).toEqual([]);
});

it("the manual names every question", () => {
  for (const does of ["explain", "test", "lint", "matrix", "diff"])
    expect(manual).toContain(`sallyport policy ${does}`);
});
