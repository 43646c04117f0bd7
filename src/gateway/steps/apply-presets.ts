import type { Exchange } from "../exchange.ts";

/**
 * Puts the arguments that policy presets into `args`: chosen by who and what alone, they are those that the entry was
 * shown without. From here on everything sees the arguments as they will be sent.
 */
export function applyPresets(x: Exchange): undefined {
  const presets = x.target?.entry?.shaped?.presets;
  if (presets !== undefined && presets.size > 0) x.args = { ...x.args, ...Object.fromEntries(presets) };
}
