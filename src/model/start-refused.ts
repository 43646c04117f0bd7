/** Why a gateway does not start. Each line says what is wrong and where. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}
