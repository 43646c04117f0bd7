import { limits } from "../model/limits.ts";
import type { JsonBounds } from "../protocol/json/parse.ts";

/** Bounds of a message that an upstream sends. Its size is bounded where it is read. */
export const answerBounds: JsonBounds = { ...limits, jsonValuesMax: limits.upstreamJsonValuesMax };
