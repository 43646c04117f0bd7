/** Protocol revisions (specification, "Versioning"), oldest first. */
const legacyRevisions = ["2025-03-26", "2025-06-18", "2025-11-25"] as const;
export const modernRevisions = ["2026-07-28"] as const;

/** All of them, newest first: what a peer is told when it asks. */
export const revisions: readonly Revision[] = [...modernRevisions, ...[...legacyRevisions].reverse()];

export type LegacyRevision = (typeof legacyRevisions)[number];
export type ModernRevision = (typeof modernRevisions)[number];
export type Revision = LegacyRevision | ModernRevision;
export type Era = "legacy" | "modern";

export function isLegacyRevision(text: string): text is LegacyRevision {
  return (legacyRevisions as readonly string[]).includes(text);
}

export function isModernRevision(text: string): text is ModernRevision {
  return (modernRevisions as readonly string[]).includes(text);
}
