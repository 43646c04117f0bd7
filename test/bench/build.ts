import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";

const root = join(import.meta.dirname, "..", "..");

/** Sources as plain JavaScript, in a folder of their own from which packages resolve. */
export interface Build {
  /** Where a source, named from the repository's root, ended up. */
  path(source: string): string;
  remove(): void;
}

/**
 * Takes the types out of `src/` and `test/bench/` as `npm run build` does, without checking them. The loader of
 * `tsx` is not measured: it wraps every inner function to keep its name, which is paid for on each call.
 */
export function buildSubjects(): Build {
  const parent = join(root, "node_modules", ".cache");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "sallyport-bench-"));
  // Below `node_modules` the repository's own package.json no longer says that files are modules.
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const path = (source: string): string => join(folder, source.replace(/\.ts$/, ".js"));
  for (const source of [...sourcesIn("src"), ...sourcesIn("test/bench")]) {
    mkdirSync(dirname(path(source)), { recursive: true });
    writeFileSync(path(source), withoutTypes(join(root, source)));
  }
  return {
    path,
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

function withoutTypes(file: string): string {
  return ts.transpileModule(readFileSync(file, "utf8"), { fileName: file, compilerOptions }).outputText;
}
