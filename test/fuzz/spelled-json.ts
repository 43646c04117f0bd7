/** JSON as somebody wrote it: keys and scalars keep their spelling, and nothing forbids a key from coming twice. */
export type Spelled =
  | { readonly kind: "object"; readonly members: readonly Member[] }
  | { readonly kind: "array"; readonly elements: readonly Spelled[] }
  | { readonly kind: "scalar"; readonly text: string };

/** A key with its quotes, and its value. */
export type Member = readonly [key: string, value: Spelled];

export function scalar(text: string): Spelled {
  return { kind: "scalar", text };
}

/** The usual spelling of a value. */
export function spell(value: unknown): Spelled {
  if (Array.isArray(value)) return { kind: "array", elements: value.map(spell) };
  if (typeof value !== "object" || value === null) return scalar(JSON.stringify(value));
  const members = Object.entries(value).map(([key, child]) => [JSON.stringify(key), spell(child)] as const);
  return { kind: "object", members };
}

/** The text, with `gap` wherever JSON has room for white space. */
export function write(root: Spelled, gap = ""): string {
  switch (root.kind) {
    case "scalar":
      return root.text;
    case "array":
      return `[${gap}${root.elements.map((element) => write(element, gap)).join(`${gap},${gap}`)}${gap}]`;
    case "object": {
      const members = root.members.map(([key, value]) => `${key}${gap}:${gap}${write(value, gap)}`);
      return `{${gap}${members.join(`${gap},${gap}`)}${gap}}`;
    }
  }
}

type Change = (node: Spelled) => Spelled;

/** Changes the `at`-th object of a tree, counted round and round from its root. A tree without one stays as it is. */
export function changeObject(root: Spelled, at: number, change: (members: readonly Member[]) => Member[]): Spelled {
  return changeNth(root, at, "object", (node) =>
    node.kind === "object" ? { kind: "object", members: change(node.members) } : node,
  );
}

/** The same for scalars. */
export function changeScalar(root: Spelled, at: number, change: (text: string) => string): Spelled {
  return changeNth(root, at, "scalar", (node) => (node.kind === "scalar" ? scalar(change(node.text)) : node));
}

function changeNth(root: Spelled, at: number, kind: Spelled["kind"], change: Change): Spelled {
  const total = count(root, kind);
  if (total === 0) return root;
  let left = at % total;
  const visit = (node: Spelled): Spelled => {
    if (node.kind === kind && left-- === 0) return change(node);
    if (node.kind === "array") return { kind: "array", elements: node.elements.map(visit) };
    if (node.kind === "scalar") return node;
    return { kind: "object", members: node.members.map(([key, value]) => [key, visit(value)]) };
  };
  return visit(root);
}

function count(root: Spelled, kind: Spelled["kind"]): number {
  const own = root.kind === kind ? 1 : 0;
  if (root.kind === "scalar") return own;
  const children = root.kind === "array" ? root.elements : root.members.map(([, value]) => value);
  return children.reduce((sum, child) => sum + count(child, kind), own);
}

/** Another spelling of the same JSON string: every `nth` character as an escape. */
export function respell(text: string, nth: number): string {
  if (!text.startsWith('"') || text.includes("\\")) return text;
  const units = Array.from(text.slice(1, -1), (char, at) => (at % nth === 0 ? escaped(char) : char));
  return `"${units.join("")}"`;
}

function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, at) => {
    return `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }).join("");
}
