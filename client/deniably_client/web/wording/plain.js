// Numbers as people write them, and the number that one counts as.

import { words } from "./words.js";

/**
 * A decimal with a point; a single comma is read as one, and spaces between thousands are left
 * out. `marks` for what could be two numbers, such as 1,000: one, or a thousand. In a language
 * that marks thousands with a point, 1.000 could be two as well.
 * @param {string} written
 * @returns {{ given?: string, marks?: boolean }}
 */
export function plain(written) {
  const text = written.trim().replace("\u2212", "-").replace(/(\d)[\s'’](?=\d{3}(?!\d))/g, "$1");
  const group = words("number.group") === "." ? "[.,]" : ",";
  const marked = new RegExp(`^-?\\d{1,3}((${group}\\d{3})+|[.,]\\d{3}([.,]\\d+)+)$`);
  if (marked.test(text)) return { marks: true };
  const point = text.replace(",", ".");
  return /^-?(\d+\.?\d*|\.\d+)$/.test(point) ? { given: point } : {};
}

/**
 * What a number counts as, where that is another one: the nearest bound or step.
 * @param {string} given
 * @param {string} low
 * @param {string} high
 * @param {string} step
 */
export function nearest(given, low, high, step) {
  const places = Math.max(...[given, low, high, step].map((text) => text.split(".")[1]?.length ?? 0));
  const whole = (/** @type {string} */ text) => {
    const [before = "", after = ""] = text.split(".");
    return BigInt(`${before}${after.padEnd(places, "0")}`);
  };
  const [x, from, to, s] = /** @type {[bigint, bigint, bigint, bigint]} */ (
    [given, low, high, step].map(whole)
  );
  if (x <= from) return x < from ? low : undefined;
  if (x >= to) return x > to ? high : undefined;
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
