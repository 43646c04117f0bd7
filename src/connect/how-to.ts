/** What somebody types or pastes to use one server with one client. */
export interface HowTo {
  readonly client: string;
  readonly steps: string;
  readonly text: string;
}

/** The clients' own commands, as their manuals give them. A server's name and URL need no quoting in any of them. */
export function howTo(server: { readonly name: string; readonly url: string }): readonly HowTo[] {
  const { name, url } = server;
  return [
    {
      client: "Claude Code",
      steps: "Run this, then type /mcp inside Claude Code to sign in.",
      text: `claude mcp add --transport http ${name} ${url}`,
    },
    {
      client: "VS Code",
      steps: "Run this, or put the same object under “servers” in .vscode/mcp.json.",
      text: `code --add-mcp '${JSON.stringify({ name, type: "http", url })}'`,
    },
    {
      client: "Cursor",
      steps: "Put this into ~/.cursor/mcp.json.",
      text: JSON.stringify({ mcpServers: { [name]: { url } } }, null, 2),
    },
    {
      client: "Codex",
      steps: "Run both.",
      text: `codex mcp add ${name} --url ${url}\ncodex mcp login ${name}`,
    },
  ];
}
