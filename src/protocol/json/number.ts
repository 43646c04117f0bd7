/**
 * How a double holds the number that `source` spells (RFC 8259 §6):
 *
 * - `plain`: the double's shortest form has the same decimal value. Spelling is no matter: `1.0`, `1e2`.
 * - `inexact`: the double would come back as another value: `9007199254740993`, `0.12345678901234567890`.
 * - `overflow`: its magnitude is beyond every double.
 *
 * What is no number in JSON's grammar is called `plain`; refusing it is the parser's task. Linear in the
 * length of `source`.
 */
export function representationOf(source: string): "plain" | "inexact" | "overflow" {
  const double = Number(source);
  if (Number.isNaN(double)) return "plain";
  if (!Number.isFinite(double)) return "overflow";
  const shortest = String(double);
  return shortest === source || sameDecimal(shortest, source) ? "plain" : "inexact";
}

/**
 * Whether two texts spell the same number in decimal, however written: `42` and `42.0`, `0` and `-0`. False
 * when either is no number. No double is involved, so nothing is rounded. Linear in their lengths.
 */
export function sameDecimal(left: string, right: string): boolean {
  const one = decimalOf(left);
  const other = decimalOf(right);
  if (one === undefined || other === undefined) return false;
  return one.digits === other.digits && one.exponent === other.exponent && one.negative === other.negative;
}

/** A number as `±digits × 10^exponent`, without zeros at either end of the digits. Zero has no digits. */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function decimalOf(text: string): Decimal | undefined {
  const parts = numberParts.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const digits = whole + fraction;
  let from = 0;
  while (digits.charAt(from) === "0") from++;
  if (from === digits.length) return { negative: false, digits: "", exponent: 0 };
  let to = digits.length;
  while (digits.charAt(to - 1) === "0") to--;
  return {
    negative: sign === "-",
    digits: digits.slice(from, to),
    exponent: Number(exponent) - fraction.length + (digits.length - to),
  };
}
