// Reads invitation codes, as typed or from a link (SPEC section 11.1).

// Without I, L, O, U and Z, which look like others. 31 is a prime, so the weighted sum below finds
// every single wrong character and every swap of two.
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXY";
/** @type {Record<string, string>} look-alikes count as the character they resemble */
const ALIKE = { O: "0", I: "1", L: "1", Z: "2", U: "V" };
const LENGTH = 18;

/**
 * Reads the code at the end of a text; undefined where the text has no valid one, such as after a
 * typing error.
 * @type {(text: string) => string | undefined}
 */
export function readCode(text) {
  // In a link the code stands behind the #.
  const last = text.slice(text.lastIndexOf("#") + 1).replace(/[- \t\r\n]/g, "");
  if (!/^[0-9A-Za-z]*$/.test(last)) return undefined;
  const code = last.toUpperCase().replace(/[OILZU]/g, (char) => ALIKE[char] ?? "");
  return code.length === LENGTH && adds(code) ? code : undefined;
}

/** @type {(code: string) => boolean} whether the last character is the check digit */
function adds(code) {
  const places = [...code].map((char) => ALPHABET.indexOf(char));
  const sum = places.slice(0, -1).reduce((total, digit, i) => total + (i + 1) * digit, 0);
  return sum % ALPHABET.length === places.at(-1);
}
