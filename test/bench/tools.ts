/** The tool that the bench calls. */
export const calledTool = "get_ticket_0";

/** So many tools, each with schemas for its arguments and its result. */
export function toolsOf(count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, at) => ({
    name: `get_ticket_${at}`,
    description: `Reads a ticket of queue ${at}: its status, its subject and who works on it.`,
    inputSchema,
    outputSchema,
  }));
}

const inputSchema = {
  type: "object",
  properties: {
    id: { type: "string", pattern: "^[A-Z]{2,8}-[0-9]{1,8}$" },
    fields: { type: "array", items: { enum: ["status", "subject", "assignee", "tags"] }, maxItems: 10 },
    limit: { type: "integer", minimum: 1, maximum: 100 },
  },
  required: ["id"],
  additionalProperties: false,
};

const outputSchema = {
  type: "object",
  properties: {
    id: { type: "string" },
    status: { enum: ["open", "closed"] },
    priority: { type: "integer", minimum: 1, maximum: 5 },
    subject: { type: "string", maxLength: 200 },
    assignee: {
      type: "object",
      properties: { name: { type: "string" }, team: { type: "string" } },
      required: ["name"],
    },
    tags: { type: "array", items: { type: "string" } },
  },
  required: ["id", "status"],
};
