import { ExactNumber } from "../model/json.ts";

/**
 * A decimal number as its significant digits and a power of ten: `negative ? -1 : 1` × `digits` ×
 * 10^`exponent`. Digits have no leading and no trailing zero; zero has none at all. A double stands
 * for the decimal that its shortest spelling names, an `ExactNumber` for the one it was written as.
 */
export interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

const spelling = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Digits and exponent differences beyond this are not multiplied out. */
const multipliedDigitsMax = 2_000;

export function decimalOf(value: number | ExactNumber): Decimal {
  const text = value instanceof ExactNumber ? value.source : String(value);
  const [, sign = "", whole = "0", fraction = "", power = "0"] = spelling.exec(text) ?? [];
  const significant = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = withoutTrailingZeros(significant);
  if (digits === "") return { negative: false, digits, exponent: 0 };
  return {
    negative: sign === "-",
    digits,
    exponent: Number(power) - fraction.length + significant.length - digits.length,
  };
}

/** A loop, because `/0+$/` is quadratic on digits full of zeros. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--;
  return digits.slice(0, end);
}

/** One text per number, whatever its spelling. */
export function decimalText(value: Decimal): string {
  return `${value.negative ? "-" : ""}${value.digits}e${value.exponent}`;
}

export function isInteger(value: Decimal): boolean {
  return value.digits === "" || value.exponent >= 0;
}

/** Negative, zero or positive as `left` is less than, equal to or greater than `right`. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const [leftSign, rightSign] = [signOf(left), signOf(right)];
  if (leftSign !== rightSign || leftSign === 0) return leftSign - rightSign;
  return leftSign * compareMagnitudes(left, right);
}

function signOf(value: Decimal): number {
  if (value.digits === "") return 0;
  return value.negative ? -1 : 1;
}

/** By the place of the first digit, then digit by digit: no power is multiplied out. */
function compareMagnitudes(left: Decimal, right: Decimal): number {
  const place = left.digits.length + left.exponent - (right.digits.length + right.exponent);
  if (place !== 0) return place;
  if (left.digits === right.digits) return 0;
  return left.digits < right.digits ? -1 : 1;
}

/**
 * Whether `value` is an integer multiple of `divisor`, exactly: 19.99 is a multiple of 0.01, which
 * division of doubles denies. Numbers whose digits or powers lie more than 2,000 apart count as none.
 */
export function isMultiple(value: Decimal, divisor: Decimal): boolean {
  if (value.digits === "") return true;
  if (divisor.digits === "") return false;
  const shift = value.exponent - divisor.exponent;
  if (Math.abs(shift) > multipliedDigitsMax || value.digits.length > multipliedDigitsMax) return false;
  if (divisor.digits.length > multipliedDigitsMax) return false;
  const numerator = BigInt(value.digits) * 10n ** BigInt(Math.max(shift, 0));
  const denominator = BigInt(divisor.digits) * 10n ** BigInt(Math.max(-shift, 0));
  return numerator % denominator === 0n;
}
