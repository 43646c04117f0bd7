import { verifyChain, type ReplicaReport } from "../audit/verify.ts";
import { systemCode } from "../config/system-code.ts";
import { fileLines } from "./evidence-lines.ts";
import { shown, type ExitCode, type Output } from "./output.ts";

/**
 * `sallyport audit verify`: whether the events of a file form unbroken chains. It cannot show that the
 * newest events were cut off; for that, compare the heads it prints with a copy kept elsewhere.
 */
export async function verify(file: string, output: Output): Promise<ExitCode> {
  try {
    const report = await verifyChain(fileLines(file));
    for (const replica of report.replicas) output.out(shown(replicaLine(replica)));
    for (const { line, kind, replica, seq, expectedSeq } of report.faults) {
      output.err(shown(`line ${line}: ${kind}, event ${seq} of ${replica || "no replica"}, expected ${expectedSeq}`));
    }
    const untold = report.faultCount - report.faults.length;
    if (untold > 0) output.err(`and ${untold} more faults`);
    output.out(report.ok ? `${report.lines} lines, no fault` : `${report.lines} lines, ${report.faultCount} faults`);
    return report.ok ? 0 : 1;
  } catch (error) {
    output.err(shown(`${file} cannot be read (${systemCode(error)}).`));
    return 1;
  }
}

function replicaLine({ replica, events, starts, beginsLateAt, lost, head }: ReplicaReport): string {
  const notes = [
    `${events} events`,
    ...(starts.length > 1 ? [`${starts.length} starts`] : []),
    ...(beginsLateAt === undefined ? [] : [`earlier ones than ${beginsLateAt} are not here`]),
    ...(lost === 0 ? [] : [`${lost} reported as lost`]),
  ];
  return `${replica}: ${notes.join(", ")}; head ${head.seq} ${head.hash}`;
}
