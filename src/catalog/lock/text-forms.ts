import { limits } from "../../model/limits.ts";
import type { TextForm } from "./strict-reading.ts";

export const httpUrl: TextForm = {
  pattern: /^https?:\/\/[^\s@?#]+$/u,
  charsMax: 2_048,
  expected: "a URL without userinfo, query and fragment",
};
export const authorization: TextForm = {
  pattern: /^[\x21-\x7e]+$/u,
  charsMax: 2_048,
  expected: "an issuer, or a type of credential",
};
export const digestForm: TextForm = {
  pattern: /^sha256:[0-9a-f]{64}$/u,
  charsMax: 71,
  expected: "sha256: and 64 lower-case hex digits",
};
export const moment: TextForm = {
  pattern: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/u,
  charsMax: 20,
  expected: "a moment like 2026-11-30T09:00:00Z",
};
export const approver: TextForm = {
  pattern: /^[^\p{C}\p{Zl}\p{Zp}]+$/u,
  charsMax: limits.catalogLockApproverCharsMax,
  expected: `a name in one line of at most ${limits.catalogLockApproverCharsMax} characters`,
};
export const reason: TextForm = {
  pattern: /^[^\p{C}\p{Zl}\p{Zp}]+$/u,
  charsMax: limits.catalogLockReasonCharsMax,
  expected: `a reason in one line of at most ${limits.catalogLockReasonCharsMax} characters`,
};
