import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readPolicyFolder } from "../../src/config/policies.ts";
import { limits } from "../../src/model/limits.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-policies-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

describe("readPolicyFolder", () => {
  it("reads YAML files in the order of their names, and neither cases nor anything else", () => {
    write("b.yml", "policy: b");
    write("a.yaml", "policy: a");
    // A deny in it would silently not count.
    write("C.YAML", "policy: c");
    write("a.cases.yaml", "cases: []");
    write("policy.schema.json", "{}");
    write("a.yaml.bak", "policy: old");
    expect(readPolicyFolder(folder)).toEqual({
      ok: true,
      documents: [
        { path: join(folder, "C.YAML"), owner: undefined, value: { policy: "c" } },
        { path: join(folder, "a.yaml"), owner: undefined, value: { policy: "a" } },
        { path: join(folder, "b.yml"), owner: undefined, value: { policy: "b" } },
      ],
    });
  });

  it("reads a mounted ConfigMap: links to files behind a link that begins with dots", () => {
    mkdirSync(join(folder, "..2026_11_29"));
    write("..2026_11_29/a.yaml", "policy: a");
    symlinkSync("..2026_11_29", join(folder, "..data"));
    symlinkSync("..data/a.yaml", join(folder, "a.yaml"));
    expect(readPolicyFolder(folder)).toEqual({
      ok: true,
      documents: [{ path: join(folder, "a.yaml"), owner: undefined, value: { policy: "a" } }],
    });
  });

  it("reads the folders within as those of owners", () => {
    mkdirSync(join(folder, "crm-team"));
    write("crm-team/crm.yaml", "policy: crm");
    write("a.yaml", "policy: a");
    const read = readPolicyFolder(folder);
    expect(read.ok && read.documents.map(({ path, owner }) => [path, owner])).toEqual([
      [join(folder, "a.yaml"), undefined],
      [join(folder, "crm-team", "crm.yaml"), "crm-team"],
    ]);
  });

  it("refuses a folder within an owner's, whose denies would silently not count", () => {
    mkdirSync(join(folder, "crm-team", "more"), { recursive: true });
    const read = readPolicyFolder(folder);
    expect(read.ok ? [] : read.faults.map(({ path, rule }) => [path, rule])).toEqual([
      [join(folder, "crm-team", "more"), "policiesAreReadable"],
    ]);
  });

  it("refuses a file over its bound without reading it", () => {
    write("large.yaml", "#".repeat(limits.policyFileBytesMax + 1));
    const read = readPolicyFolder(folder);
    expect(read.ok ? [] : read.faults.map(({ found }) => found)).toEqual([`${limits.policyFileBytesMax + 1} bytes`]);
  });

  it("refuses a folder that is not there, and a link that leads nowhere", () => {
    const read = readPolicyFolder(join(folder, "absent"));
    expect(read.ok ? [] : read.faults.map(({ found }) => found)).toEqual(["nothing readable (ENOENT)"]);
    symlinkSync("nowhere.yaml", join(folder, "a.yaml"));
    expect(readPolicyFolder(folder).ok).toBe(false);
  });

  it("reports the syntax of every file at once, each with its path and line", () => {
    write("a.yaml", "policy: a\npolicy: b");
    write("b.yaml", "a: [");
    const read = readPolicyFolder(folder);
    expect(read.ok ? [] : read.faults.map(({ path, line }) => [path, line])).toEqual([
      [join(folder, "a.yaml"), 2],
      [join(folder, "b.yaml"), 1],
    ]);
  });
});
