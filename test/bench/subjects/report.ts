/** What a subject tells the bench: once where it listens, then its processor time whenever it is asked. */
export type Report =
  { readonly kind: "listening"; readonly port: number } | { readonly kind: "cpu"; readonly us: number };

/** Announces the port and answers every message with the process's user and system time so far, in µs. */
export function reportTo(parent: NodeJS.Process, port: number): void {
  const tell = (report: Report): void => void parent.send?.(report);
  parent.on("message", () => {
    const { user, system } = parent.cpuUsage();
    tell({ kind: "cpu", us: user + system });
  });
  // A bench that was killed leaves no subject behind.
  parent.on("disconnect", () => {
    parent.exit(0);
  });
  tell({ kind: "listening", port });
}
