/** Severities of log messages, least severe first (2025-11-25, logging, "Log Levels"; RFC 5424 §6.2.1). */
export const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return logLevels.some((level) => level === value);
}

/** Whether a message of `level` is wanted by whoever asked for `least`. */
export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}
