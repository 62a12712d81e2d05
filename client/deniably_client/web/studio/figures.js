// Figures of a draft that the server works out. They come a moment after the last change, the newest win,
// and those before stay until then. While some are only about right, the page asks again, and a few times
// where the server had no time to work them out.

import { Declined, explain, find, fragment } from "./exchange.js";

const SOON = 250; // milliseconds
const LATER = 1000;
const MUCH_LATER = 5000;
/** After how long to ask again for what the server had no time to work out, and then no more. */
export const PAUSES = [2000, 4000, 8000, 16_000, 32_000];

/**
 * Returns the function that asks for the figures, soon or at once.
 * @param {HTMLElement} place the element that is busy meanwhile, with the address
 * @param {(piece: HTMLElement) => void} show
 */
export function figures(place, show) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let looking;
  let looks = 0;
  let late = 0;

  /** @param {number} milliseconds */
  function look(milliseconds = SOON) {
    late = 0;
    later(milliseconds);
  }

  /** @param {number | undefined} milliseconds */
  function later(milliseconds) {
    clearTimeout(looking);
    if (milliseconds !== undefined) looking = setTimeout(() => void ask(), milliseconds);
  }

  async function ask() {
    const mine = ++looks;
    place.setAttribute("aria-busy", "true");
    try {
      const piece = await fragment(place.dataset.address ?? "");
      if (mine !== looks) return;
      if (piece.querySelector("[data-again]")) look(LATER);
      if (piece.querySelector("[data-slow]")) later(PAUSES[late++]);
      say(piece);
      show(piece);
    } catch (error) {
      if (error instanceof Declined) explain(error);
      else look(MUCH_LATER); // the figures before stay there
    } finally {
      if (mine === looks) place.removeAttribute("aria-busy");
    }
  }

  return look;
}

/**
 * Puts a new piece in the place of the one before. Folds stay open, and what had the focus keeps it; a piece
 * in which a field has the focus stays as it is.
 * @param {HTMLElement} place
 * @param {Element} piece
 */
export function replace(place, piece) {
  const active = /** @type {HTMLElement} */ (document.activeElement);
  const here = place.contains(active);
  if (here && active.matches("input")) return;
  const folds = () => [...place.querySelectorAll("details")];
  const stops = () => /** @type {HTMLElement[]} */ ([...place.querySelectorAll("a, button, summary, [tabindex]")]);
  const open = folds().map((fold) => fold.open);
  const at = stops().indexOf(active);
  place.replaceChildren(...piece.childNodes);
  for (const [index, fold] of folds().entries()) fold.open = open[index] ?? false;
  if (here) (stops().find((one) => active.id && one.id === active.id) ?? stops()[at])?.focus();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let saying;

/**
 * Says the figures in one sentence, once they rest, to those who do not see them.
 * @param {HTMLElement} piece
 */
function say(piece) {
  const { says = "" } = /** @type {HTMLElement | null} */ (piece.querySelector("[data-says]"))?.dataset ?? {};
  clearTimeout(saying);
  saying = setTimeout(() => {
    const place = find("#says");
    if (place.textContent !== says) place.textContent = says;
  }, LATER);
}
