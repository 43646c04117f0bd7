/** The system's code of a failed read, such as `ENOENT`. Its message is left out, since it may quote content. */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error";
}
