import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { check } from "../../src/cli/check.ts";
import { measureCosts } from "../../src/compose-costs.ts";
import { shown } from "../../src/cli/output.ts";
import { captured, env, folderOf, soundConfig, soundPolicy } from "./workspace.ts";

const sound = { "sallyport.yaml": soundConfig, "policies/support.yaml": soundPolicy.replace("get_*", "get_customer") };

async function checked(
  files: Readonly<Record<string, string>>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = captured();
  const file = join(folderOf(files), "sallyport.yaml");
  const code = await check({ file, budget: false, live: false }, { env, output, measure: measureCosts });
  return { code, stdout: output.stdout.join("\n"), stderr: output.stderr.join("\n") };
}

describe("sallyport check", () => {
  it("says what a sound configuration would serve, and no secret", async () => {
    const { code, stdout, stderr } = await checked(sound);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("https://mcp.example.com/support/mcp: crm as crm_*; asks for mcp");
    expect(stdout).toContain("crm: https://crm.example.net/mcp?••• (era auto, public addresses, static headers)");
    expect(stdout).toContain("corp: https://login.example.com");
    expect(stdout).toContain("1 rule in 1 file of ");
    expect(stdout).toMatch(/required: file .*audit\.jsonl/u);
    expect(stdout).not.toMatch(/hush|hidden/u);
  });

  it("prints every fault with place, line, what it found and what it expects, on standard error", async () => {
    const text = soundConfig.replace("crm: { prefix", "crn: { prefix").replace("publicUrl: https", "publicUrl: http");
    const { code, stdout, stderr } = await checked({ ...sound, "sallyport.yaml": text });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.split("\n").slice(1)).toEqual([
      "  publicUrl (line 1)  [publicUrlIsHttpsOrLoopback]",
      '    found:    "http://mcp.example.com"',
      "    expected: https, or http on a loopback host",
      "  servers.support.upstreams.crn (line 7)  [serversNameKnownUpstreams]",
      '    found:    "crn"',
      "    expected: did you mean crm?",
    ]);
  });

  it("refuses policies that do not compile against the configuration's names", async () => {
    const policy = soundPolicy.replace("corp:support", "crop:support").replace("upstream: crm", "upstream: crn");
    const { code, stderr } = await checked({ ...sound, "policies/support.yaml": policy });
    expect(code).toBe(1);
    expect(stderr).toContain("support.yaml#/rules/0/who/groups");
    expect(stderr).toContain("support.yaml#/rules/0/what/upstream");
  });

  it("refuses policies that are no YAML, and a folder that is not there", async () => {
    expect((await checked({ ...sound, "policies/support.yaml": "a: [" })).stderr).toContain(
      "support.yaml (line 1)  [yaml]",
    );
    expect((await checked({ "sallyport.yaml": soundConfig })).stderr).toContain("[policiesAreReadable]");
  });

  it("warns, and still exits with 0", async () => {
    const { code, stderr } = await checked({ "sallyport.yaml": soundConfig.replace("policies: ./policies\n", "") });
    expect(code).toBe(0);
    expect(stderr).toContain("policies  [nothingIsAllowed]");
  });

  it("reports a file that is not there, and one that is a folder", async () => {
    const output = captured();
    const rim = { env, output, measure: measureCosts };
    for (const file of ["/nonexistent/sallyport.yaml", folderOf({})])
      expect(await check({ file, budget: false, live: false }, rim)).toBe(1);
    expect(output.stderr.join("\n")).toContain("ENOENT");
    expect(output.stderr.join("\n")).toContain("not a regular file");
  });
});

describe("text from elsewhere", () => {
  it("never reaches the terminal as a command or unseen", () => {
    expect(shown("a\u001b[2J\r\u202eb\u200bc\n é日")).toBe("a\\u{1b}[2J\\u{d}\\u{202e}b\\u{200b}c\\u{a} é日");
  });
});

describe("the sallyport command", () => {
  const run = (args: readonly string[], crm: Readonly<Record<string, string>>): Promise<{ stdout: string }> => {
    const main = join(import.meta.dirname, "../../src/main.ts");
    return promisify(execFile)(process.execPath, ["--import", "tsx", main, ...args], {
      env: { ...process.env, ...crm },
    });
  };

  it("exits with what the command answers", { timeout: 120_000 }, async () => {
    const file = join(folderOf(sound), "sallyport.yaml");
    const { stdout } = await run(["check", file], { CRM: "Bearer x" });
    expect(stdout).toContain("Serving https://mcp.example.com");
    const stderr: unknown = expect.stringContaining("CRM is empty");
    await expect(run(["check", file], { CRM: "" })).rejects.toMatchObject({ code: 1, stderr });
    await expect(run(["chek"], {})).rejects.toMatchObject({ code: 2 });
  });
});
