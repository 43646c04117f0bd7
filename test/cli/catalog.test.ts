import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { compileLock, type Lock } from "../../src/catalog/lock/lock.ts";
import { catalog, type CatalogOrder } from "../../src/cli/catalog.ts";
import { loadFile } from "../../src/cli/load-file.ts";
import { summary } from "../../src/cli/summary.ts";
import { openLiveCatalogs } from "../../src/compose-live-catalogs.ts";
import { startListeningUpstream, tool, type ListeningUpstream } from "../journey/listening-bench.ts";
import { captured, folderOf } from "./workspace.ts";

const closing: ListeningUpstream[] = [];

afterEach(async () => {
  for (const one of closing.splice(0)) await one.close();
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Scene {
  readonly folder: string;
  readonly upstream: ListeningUpstream;
  readonly run: (wanted: CatalogOrder["wanted"], more?: Partial<CatalogOrder>) => Promise<Ran>;
  readonly lock: () => Lock;
  readonly text: () => string;
}

const asRoutine = { by: "catalog update", reason: "As its upstream offers it." };
const update = { does: "update", ...asRoutine } as const;
const diff = { does: "diff" } as const;
const now = Date.UTC(2026, 10, 30, 9);

async function scene(more: Readonly<Record<string, object>> = {}, era: "legacy" | "modern" = "modern"): Promise<Scene> {
  const upstream = await startListeningUpstream(era);
  closing.push(upstream);
  const config = {
    publicUrl: "http://127.0.0.1:8080",
    auth: { none: true },
    upstreams: { crm: { url: upstream.url, addresses: "loopback" }, ...more },
    servers: { s: { upstreams: Object.fromEntries(["crm", ...Object.keys(more)].map((name) => [name, {}])) } },
    catalogLock: "./catalog.lock.json",
  };
  const folder = folderOf({ "sallyport.yaml": JSON.stringify(config) });
  const path = join(folder, "catalog.lock.json");
  const text = (): string => readFileSync(path, "utf8");
  const run: Scene["run"] = async (wanted, order = {}) => {
    const output = captured();
    const code = await catalog(
      { config: join(folder, "sallyport.yaml"), upstream: undefined, definitions: new Map(), ...order, wanted },
      { env: () => undefined, output, now: () => now, open: openLiveCatalogs },
    );
    return { code, stdout: output.stdout.join("\n"), stderr: output.stderr.join("\n") };
  };
  const lock = (): Lock => {
    const compiled = compileLock(text());
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
    return compiled.lock;
  };
  return { folder, upstream, run, lock, text };
}

/** Somebody listens there no more. */
const gone = { url: "http://127.0.0.1:9/mcp", addresses: "loopback" };

describe.each(["legacy", "modern"] as const)("sallyport catalog update, of a %s upstream", (era) => {
  it("writes a lock where there is none, of what the upstream offers, and shows each name", async () => {
    const { run, lock, upstream, folder } = await scene({}, era);
    upstream.items.template.push({ uriTemplate: "test://{id}", name: "one" });
    const { code, stdout, stderr } = await run(update);
    expect([code, stderr]).toEqual([0, ""]);
    expect([...lock().items()].map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "tool echo",
      "prompt greet",
      "template test://{id}",
    ]);
    expect(lock().document.upstreams.get("crm")?.identity).toEqual({ url: upstream.url, authorization: "none" });
    expect(stdout).toMatch(
      /^crm: [34] changes\n {2}tool echo: new {2}sha256:[0-9a-f]{64}\n {4}definition\n {6}after: /,
    );
    expect(lock().document.upstreams.get("crm")?.items.tool.get("echo")?.approved).toMatchObject([
      { ...asRoutine, at: "2026-11-30T09:00:00Z" },
    ]);
    expect(readdirSync(folder).sort()).toEqual(["catalog.lock.json", "sallyport.yaml"]);
  });
});

describe("sallyport catalog update", () => {
  it("changes nothing, not a byte, when nothing changed", async () => {
    const { run, text } = await scene();
    await run(update);
    const before = text();
    const { code, stdout } = await run({ ...update, by: "bob", reason: "Again." });
    expect([code, stdout, text()]).toEqual([0, "crm: as in the lock", before]);
  });

  it("keeps what the lock has of an upstream that cannot be read, says so, and exits with 1", async () => {
    const of = await scene({ crn: gone });
    await of.run(update, { upstream: "crm" });
    const other = of.text().replaceAll('"crm"', '"crn"');
    writeFileSync(join(of.folder, "catalog.lock.json"), other);
    const { code, stderr } = await of.run(update);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^crn: not read \(UPSTREAM_UNREACHABLE\); what the lock has of it stays\.$/);
    expect([...of.lock().items()].map(({ upstream, name }) => `${upstream} ${name}`)).toEqual([
      "crm echo",
      "crm greet",
      "crn echo",
      "crn greet",
    ]);
  });

  it("reads one upstream alone when told so, and leaves the others' part as it is", async () => {
    const of = await scene({ crn: gone });
    const { code, stderr } = await of.run(update, { upstream: "crm" });
    expect([code, stderr, [...of.lock().document.upstreams.keys()]]).toEqual([0, "", ["crm"]]);
  });

  it("takes definitions from a file for an upstream that only users can list", async () => {
    const of = await scene({ crn: gone });
    const listed = { tools: [tool("mine")], instructions: "Be kind." };
    writeFileSync(join(of.folder, "crn.json"), JSON.stringify(listed));
    const definitions = new Map([["crn", join(of.folder, "crn.json")]]);
    expect(await of.run(update, { definitions })).toMatchObject({ code: 0, stderr: "" });
    expect(of.lock().isLocked("crn", "tool", "mine")).toBe(true);
    expect(of.lock().approvesInstructions("crn", "Be kind.")).toBe(true);
  });

  it.each([
    ["[]", "no map"],
    ['{"tools":{}}', "tools is no list of definitions"],
    ['{"tools":[1]}', "tools is no list of definitions"],
    ['{"resource_templates":[]}', "unknown key resource_templates"],
    ['{"tools":[],"tools":[]}', "JSON_DUPLICATE_KEY"],
    ["{", "JSON_MALFORMED"],
  ])("refuses %s as such a file: %s", async (text, because) => {
    const of = await scene();
    writeFileSync(join(of.folder, "crm.json"), text);
    const { code, stderr } = await of.run(update, { definitions: new Map([["crm", join(of.folder, "crm.json")]]) });
    expect(code).toBe(1);
    expect(stderr).toContain(because);
  });

  it("does not write over a lock that is broken, nor a lock that nothing could read again", async () => {
    const of = await scene();
    const path = join(of.folder, "catalog.lock.json");
    writeFileSync(path, "{");
    expect(await of.run(update)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("JSON_MALFORMED") as string,
    });
    expect(of.text()).toBe("{");
    writeFileSync(path, '{"lockVersion":1,"upstreams":{}}');
    const { code, stderr } = await of.run({ ...update, by: "two\nlines" });
    expect(code).toBe(1);
    expect(stderr).toContain("a name in one line");
    expect(of.text()).toBe('{"lockVersion":1,"upstreams":{}}');
    expect(readdirSync(of.folder).sort()).toEqual(["catalog.lock.json", "sallyport.yaml"]);
  });

  it("does not write over what somebody else wrote meanwhile", async () => {
    const of = await scene();
    const path = join(of.folder, "catalog.lock.json");
    const theirs = '{"lockVersion":1,"upstreams":{}}';
    const output = captured();
    const open: typeof openLiveCatalogs = async (config) => {
      const live = await openLiveCatalogs(config);
      const read = (name: string): ReturnType<typeof live.read> => {
        writeFileSync(path, theirs);
        return live.read(name);
      };
      return { ...live, read };
    };
    const order = {
      config: join(of.folder, "sallyport.yaml"),
      upstream: undefined,
      definitions: new Map(),
      wanted: update,
    };
    const code = await catalog(order, { env: () => undefined, output, now: () => now, open });
    expect([code, of.text()]).toEqual([1, theirs]);
    expect(output.stderr.join()).toContain("changed meanwhile");
  });

  it("needs to know where the lock is, and which upstreams there are", async () => {
    const of = await scene();
    expect(await of.run(update, { upstream: "crn" })).toMatchObject({ code: 2 });
    expect(await of.run(update, { definitions: new Map([["crn", "x"]]) })).toMatchObject({ code: 2 });
    const text = readFileSync(join(of.folder, "sallyport.yaml"), "utf8");
    writeFileSync(join(of.folder, "sallyport.yaml"), text.replace(/,"catalogLock":"[^"]*"/, ""));
    expect(await of.run(update)).toMatchObject({ code: 1, stderr: expect.stringContaining("catalogLock") as string });
    expect(existsSync(join(of.folder, "catalog.lock.json"))).toBe(false);
  });
});

describe("sallyport catalog diff", () => {
  it("exits with 0 when nothing differs, with 1 when something does, and shows what hides", async () => {
    const of = await scene();
    await of.run(update);
    const before = of.text();
    expect(await of.run(diff)).toEqual({ code: 0, stdout: "crm: as in the lock", stderr: "" });
    of.upstream.items.tool[0] = tool("echo", "does\u00a0something\u200b");
    of.upstream.items.tool.push(tool("new\u202e", "Exfiltrates."));
    of.upstream.items.prompt.splice(0);
    const { code, stdout } = await of.run(diff);
    expect(code).toBe(1);
    const lines = stdout.split("\n");
    expect(lines).toContain("    /description: description changed");
    expect(lines).toContain('      after:  "does\\u{a0}something\\u{200b}"');
    expect(stdout).toMatch(/^ {2}tool new\\u\{202e\}: new/m);
    expect(stdout).toMatch(/^ {2}prompt greet: removed/m);
    expect(stdout).not.toMatch(/[\u00a0\u200b\u202e]/u);
    expect(of.text()).toBe(before);
  });

  it("exits with 1 for an upstream that it cannot read, and without a lock", async () => {
    const of = await scene({ crn: gone });
    expect(await of.run(diff)).toMatchObject({ code: 1, stderr: expect.stringContaining("ENOENT") as string });
    await of.run(update, { upstream: "crm" });
    expect(await of.run(diff)).toMatchObject({ code: 1, stderr: expect.stringContaining("crn: not read") as string });
    expect(await of.run(diff, { upstream: "crm" })).toMatchObject({ code: 0 });
  });
});

describe("sallyport catalog approve", () => {
  const approval = { kind: "tool", name: "echo", digest: undefined, replaces: false } as const;
  const approve = { does: "approve", by: "ada", reason: "Roll-out.", approval } as const;

  it("approves the live definition beside the old one, and in its place when told so", async () => {
    const of = await scene();
    await of.run(update);
    of.upstream.items.tool[0] = tool("echo", "Two.");
    const { code, stdout } = await of.run(approve, { upstream: "crm" });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Approved tool echo of crm: sha256:/)]);
    expect(of.lock().approvedOf("crm", "tool", "echo")).toHaveLength(2);
    expect(await of.run(diff)).toMatchObject({ code: 0 });
    of.upstream.items.tool[0] = tool("echo", "does something");
    expect(await of.run(diff)).toMatchObject({ code: 0 });
    of.upstream.items.tool[0] = tool("echo", "Two.");
    await of.run({ ...approve, approval: { ...approval, replaces: true } }, { upstream: "crm" });
    expect(of.lock().approvedOf("crm", "tool", "echo")).toHaveLength(1);
    expect(of.lock().document.upstreams.get("crm")?.items.tool.get("echo")?.approved).toMatchObject([
      { by: "ada", reason: "Roll-out." },
    ]);
  });

  it("approves nothing that its approver has not seen", async () => {
    const of = await scene();
    await of.run(update);
    const before = of.text();
    of.upstream.items.tool[0] = tool("echo", "Two.");
    const seen = { ...approve, approval: { ...approval, digest: `sha256:${"0".repeat(64)}` } };
    expect(await of.run(seen, { upstream: "crm" })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has sha256:") as string,
    });
    expect(of.text()).toBe(before);
  });
});

describe("a configuration with a catalog lock", () => {
  const faultsOf = (folder: string): string[] => {
    const read = loadFile(join(folder, "sallyport.yaml"), () => undefined);
    const told = read.ok ? read.warnings : read.faults;
    return told
      .filter(({ rule }) => rule.startsWith("catalogLock"))
      .map(({ path, found, rule }) => `${rule} at ${path.replace(folder, "").trim()}: ${found}`);
  };

  it("does not load while the lock is absent or broken, and says what a sound one approves", async () => {
    const of = await scene();
    expect(faultsOf(of.folder)).toEqual(["catalogLockIsReadable at /catalog.lock.json: nothing readable (ENOENT)"]);
    await of.run(update);
    const read = loadFile(join(of.folder, "sallyport.yaml"), () => undefined);
    const lines = read.ok ? summary(read) : [];
    expect(lines).toContain("  crm: enforce, 2 items approved");
    expect(lines).toContain(`Catalog lock  ${of.lock().digest}`);
    writeFileSync(join(of.folder, "catalog.lock.json"), of.text().replace("does something", "does another thing"));
    expect(faultsOf(of.folder)).toMatchObject([
      expect.stringMatching(
        /^catalogLock at \/catalog\.lock\.json upstreams\.crm\.tools\.echo\.approved\[0\]\.digest: sha/,
      ),
    ]);
  });

  it("warns of upstreams that the lock does not have, or has at another place, and of those it has for nobody", async () => {
    const of = await scene({ crn: gone });
    const rewrite = (from: string, to: string): void => {
      writeFileSync(join(of.folder, "catalog.lock.json"), text.replace(from, to));
    };
    await of.run(update, { upstream: "crm" });
    const text = of.text();
    expect(faultsOf(of.folder)).toEqual(["catalogLockHasTheUpstream at upstreams.crn: nothing in the catalog lock"]);
    rewrite('"authorization": "none"', '"authorization": "static"');
    expect(faultsOf(of.folder)).toContain(`catalogLockMeansTheUpstream at upstreams.crm: ${of.upstream.url} with none`);
    rewrite('"crm"', '"crx"');
    expect(faultsOf(of.folder)).toContain("catalogLockIsUsed at /catalog.lock.json: upstream crx");
  });
});
