import js from "@eslint/js";
import node from "eslint-plugin-n";
import tseslint from "typescript-eslint";

/** Packages and globals that the pure rooms must not know: no HTTP, clock, store or randomness. */
const impure = {
  "no-restricted-imports": [
    "error",
    {
      patterns: [
        "fastify",
        "fastify/*",
        "undici",
        "ioredis",
        "pino",
        "prom-client",
        "jose",
        "node:http",
        "node:https",
        "node:fs*",
        "node:net",
      ],
    },
  ],
  "no-restricted-syntax": [
    "error",
    {
      selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
      message: "A pure room takes `now` as an argument.",
    },
    {
      selector: "NewExpression[callee.name='Date'][arguments.length=0]",
      message: "A pure room takes `now` as an argument.",
    },
    {
      selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
      message: "A pure room takes randomness as an argument.",
    },
  ],
};

export default tseslint.config(
  { ignores: ["dist/", "node_modules/", "coverage/", "test/conformance/node_modules/"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    plugins: { n: node },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/strict-boolean-expressions": "error",
      "@typescript-eslint/no-unsafe-type-assertion": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/prefer-readonly": "error",
      // Isolated declarations ask for types that this rule calls trivial.
      "@typescript-eslint/no-inferrable-types": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "n/prefer-node-protocol": "error",
      "n/no-process-env": "error",
      "no-console": "error",
      eqeqeq: "error",
      complexity: ["error", 12],
      "max-params": ["error", 4],
      "max-lines": ["error", { max: 350, skipBlankLines: false, skipComments: false }],
      "max-lines-per-function": ["error", { max: 70 }],
    },
  },
  // Whoever dials does it behind the egress guard, which is handed in.
  {
    files: ["src/**"],
    rules: { "no-restricted-globals": ["error", { name: "fetch", message: "take a guarded fetch as an argument" }] },
  },
  // A table, not a text: that every bound stands in one file is worth more than the length of the file.
  { files: ["src/model/limits.ts"], rules: { "max-lines": "off" } },
  { files: ["src/policy/**", "src/schema/**", "src/sanitize/**", "src/protocol/**", "src/model/**"], rules: impure },
  {
    files: ["test/**/*.ts", "deploy/**/*.ts"],
    rules: {
      "max-lines-per-function": "off",
      "max-lines": ["error", { max: 600, skipBlankLines: true, skipComments: true }],
      "@typescript-eslint/no-unsafe-type-assertion": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "n/no-process-env": "off",
    },
  },
  { files: ["**/*.{js,mjs}"], languageOptions: { globals: { process: "readonly", console: "readonly" } } },
);
