// A practice question that shows what the device would send. It runs the code that randomises real
// answers, twenty times. Nothing is sent.

import { Coins } from "../core/coins.js";
import { randomise } from "../mechanisms/mechanism.js";
import { words } from "../wording/words.js";

const SENDS = 20;

/** @type {WeakSet<HTMLFormElement>} */
const ready = new WeakSet();

/**
 * Prepares the practice question and empties it, each time that it is opened.
 * @param {HTMLFormElement} form with two choices, and the odds of a question of the survey
 */
export function prepare(form) {
  clear(form);
  if (ready.has(form)) return;
  ready.add(form);
  const { own, other } = form.dataset;
  const mechanism = {
    name: "subset_selection", k: 2, omega: 1, own: Number(own), other: Number(other),
  }; // prettier-ignore
  const inputs = [...form.querySelectorAll("input")];
  const [first = "", second = ""] = inputs.map((input) => input.closest("label")?.textContent ?? "");

  function simulate() {
    const choice = inputs.findIndex(({ checked }) => checked);
    if (choice < 0) return;
    const coins = new Coins();
    const sends = Array.from({ length: SENDS }, () => randomise(mechanism, choice, coins)[0]);
    const count = sends.filter((sent) => sent === 0).length;
    const counts = { first_count: count, second_count: SENDS - count };
    write("#sends", words("script.sends", { all: SENDS, first, second, ...counts }));
    const icons = sends.map((sent) => (sent === 0 ? "●" : "○"));
    const rows = [icons.slice(0, SENDS / 2), icons.slice(SENDS / 2)].map((row) => row.join(""));
    write("#icons", `${rows.join("\n")}\n● ${first}   ○ ${second}`);
    meaning(form).hidden = false;
  }

  /** @type {(selector: string, text: string) => void} */
  function write(selector, text) {
    const place = form.querySelector(selector);
    if (place) place.textContent = text;
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", simulate);
  form.querySelector("#more")?.addEventListener("click", simulate);
}

/** @param {HTMLFormElement} form */
function clear(form) {
  form.reset();
  meaning(form).hidden = true;
  for (const place of form.querySelectorAll("#sends, #icons")) place.textContent = "";
}

/** @param {HTMLFormElement} form */
const meaning = (form) => /** @type {HTMLElement} */ (form.querySelector("#meaning"));
