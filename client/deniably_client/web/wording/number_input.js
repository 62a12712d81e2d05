// Parses numbers as people type them, and finds the value that a number counts as.

import { words } from "./words.js";

/**
 * Parses a number as somebody typed it. `number` is the number with a decimal point; it is missing
 * where the text is no number. A single comma counts as a decimal point. Spaces between thousands
 * are removed. `ambiguous` marks a text that could be two numbers, such as 1,000: one, or a
 * thousand. In a language that groups thousands with a point, 1.000 is ambiguous too.
 * @param {string} written
 * @returns {{ number?: string, ambiguous?: boolean }}
 */
export function parseNumber(written) {
  // U+2212 is the minus sign that some keyboards and spreadsheets write.
  const text = written.trim().replace("\u2212", "-").replace(/(\d)[\s'’](?=\d{3}(?!\d))/g, "$1");
  const group = words("number.group") === "." ? "[.,]" : ",";
  // 1,000; 1.000 where points group thousands; and numbers with two marks, such as 1.234,5.
  const marked = new RegExp(`^-?\\d{1,3}((${group}\\d{3})+|[.,]\\d{3}([.,]\\d+)+)$`);
  if (marked.test(text)) return { ambiguous: true };
  const point = text.replace(",", ".");
  return /^-?(\d+\.?\d*|\.\d+)$/.test(point) ? { number: point } : {};
}

/**
 * Returns the value that a number counts as: the nearest bound, or the nearest number that is
 * whole steps above `low`. Undefined where that is the number itself. All are plain decimals.
 * @param {string} number
 * @param {string} low
 * @param {string} high
 * @param {string} step
 */
export function nearest(number, low, high, step) {
  // All are counted in units of the last decimal place, as whole numbers, so nothing is rounded.
  const places = Math.max(...[number, low, high, step].map((text) => text.split(".")[1]?.length ?? 0));
  const whole = (/** @type {string} */ text) => {
    const [before = "", after = ""] = text.split(".");
    return BigInt(`${before}${after.padEnd(places, "0")}`);
  };
  const [x, from, to, s] = /** @type {[bigint, bigint, bigint, bigint]} */ (
    [number, low, high, step].map(whole)
  );
  if (x <= from) return x < from ? low : undefined;
  if (x >= to) return x > to ? high : undefined;
  // (2a + s) / 2s, rounded down, is a/s rounded to the nearest, halves upwards.
  const value = from + ((2n * (x - from) + s) / (2n * s)) * s;
  return value === x ? undefined : written(value, places);
}

/** @type {(value: bigint, places: number) => string} */
function written(value, places) {
  const digits = String(value < 0n ? -value : value).padStart(places + 1, "0");
  const cut = digits.length - places;
  const text = `${digits.slice(0, cut)}.${digits.slice(cut)}`.replace(/\.?0*$/, "");
  return value < 0n ? `-${text}` : text;
}
