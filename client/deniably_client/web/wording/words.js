// Looks up texts in the page's language, as words.py does. The page brings them as data
// (<script type="application/json" id="words">).

/** @typedef {string | Record<string, string>} Text */

/** @type {Record<string, Text> | undefined} */
let texts;

function allTexts() {
  texts ??= /** @type {Record<string, Text>} */ (
    JSON.parse(document.getElementById("words")?.textContent ?? "{}")
  );
  return texts;
}

/**
 * Returns the text of a key with its placeholders filled in. `count` selects the plural form.
 * Whole numbers get the language's thousands mark. Throws Error for an unknown key or a missing
 * value.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function words(key, values = {}) {
  const text = Object.hasOwn(allTexts(), key) ? allTexts()[key] : undefined;
  if (text === undefined) throw new Error(`there are no words for ${key}`);
  return form(text, Number(values["count"])).replace(/\{([a-z_]+)\}/g, (_, place) => {
    if (!Object.hasOwn(values, place)) throw new Error(`${key} needs ${place}`);
    const value = values[place] ?? "";
    return typeof value === "number" ? number(value) : isolated(value);
  });
}

/** @type {(text: Text, count: number) => string} */
function form(text, count) {
  if (typeof text === "string") return text;
  // Arabic, Polish and Ukrainian have several plural forms.
  const rules = new Intl.PluralRules(document.documentElement.lang);
  return text[rules.select(count)] ?? text["other"] ?? "";
}

/**
 * Puts right-to-left marks (U+200F) around Latin letters in a right-to-left page. Without them the
 * punctuation beside such a text would move to its other side.
 * @type {(text: string) => string}
 */
const isolated = (text) =>
  document.documentElement.dir === "rtl" && /[A-Za-z\u00c0-\u058f]/.test(text)
    ? `\u200f${text}\u200f`
    : text;

/** @type {(whole: number) => string} 2981 is 2,981 in English, 2.981 in German */
const number = (whole) => String(whole).replace(/\B(?=(\d{3})+$)/g, words("number.group"));

/** @type {(day: string) => string} 2027-03-03 is 3 March 2027 in English */
export const day = (day) =>
  // A date alone is midnight in UTC; in a zone west of that it would be shown as the day before.
  // British English has the day before the month. Digits are Latin in every language.
  new Date(day).toLocaleDateString(document.documentElement.lang.replace(/^en$/, "en-GB"), {
    dateStyle: "long",
    numberingSystem: "latn",
    timeZone: "UTC",
  });

/** @type {(plain: string) => string} 2981.5 is 2981,5 in German */
export const pointed = (plain) => plain.replace(".", words("number.point"));
