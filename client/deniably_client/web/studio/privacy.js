// The privacy page of a draft: a way to ask is taken with one press, and taken back with one. What each
// costs and shows is worked out by the server; nothing about privacy is computed here.

import { Refused } from "../core/errors.js";
import { Draft } from "./draft.js";
import { find, trying } from "./exchange.js";
import { figures, replace } from "./figures.js";

const REST = 300; // milliseconds after the slider was moved

const desk = find("#desk");
/** Whether a way was taken: it gets the focus, as its button is gone then. */
let [pressed, taken] = [false, false];
const draft = new Draft(desk, {
  edited() {
    taken ||= pressed;
    pressed = false;
    look();
  },
  settle: () => save(),
  anew: false,
});

const look = figures(desk, (piece) => {
  for (const part of piece.querySelectorAll("[data-part]")) {
    replace(find(`#${/** @type {HTMLElement} */ (part).dataset.part}`), part);
  }
  if (taken) /** @type {HTMLElement | null} */ (document.querySelector("#chosen"))?.focus();
  taken = false;
});

desk.addEventListener("click", (event) => {
  const { operation } = /** @type {HTMLElement} */ (event.target).dataset;
  if (!operation) return;
  pressed = true;
  draft.change(JSON.parse(operation));
});

find("#expect").addEventListener("change", (event) => {
  const text = /** @type {HTMLInputElement} */ (event.target).value.replace(/\D/g, "");
  draft.change({ do: "put", question: null, key: "expect", value: text ? Number(text) : null });
});

// --- a slider for all questions ---------------------------------------------------------------------

/** The slider of a budget, or that of what the server alone may learn through a mixer.
 * @returns {HTMLInputElement | null} */
const slider = () => document.querySelector("#budget, #promise");
/** @type {ReturnType<typeof setTimeout> | undefined} */
let resting;

/** @type {(list: string | undefined, moved: HTMLInputElement) => string} what a list has for the slider's place */
const stopOf = (list, moved) => list?.split(" ")[Number(moved.value)] ?? "";

function save() {
  const moved = slider();
  if (!moved || resting === undefined) return;
  clearTimeout(resting);
  resting = undefined;
  const stop = Number(stopOf(moved.dataset.stops, moved));
  const { budget, mixer } = draft.newest;
  if (moved.id === "budget") {
    if (stop !== budget?.epsilon) put("budget", { ...budget, epsilon: stop });
  } else if (stop !== mixer?.odds) {
    // The number of made-up answers follows from what is stated here.
    const { epsilon: _, blanks: __, ...kept } = mixer;
    put("mixer", { ...kept, odds: stop });
  }
}

/** @type {(key: string, value: unknown) => void} */
const put = (key, value) => draft.unsaved.add({ do: "put", question: null, key, value });

desk.addEventListener("input", (event) => {
  const moved = slider();
  if (!moved || event.target !== moved) return;
  const { shown, rights } = moved.dataset;
  if (moved.id === "budget") {
    find("#at-most").textContent = `at most ${stopOf(shown, moved)} of 100`;
    moved.setAttribute("aria-valuetext", `at most ${stopOf(shown, moved)} of 100`);
  } else {
    find("#promised").textContent = `${stopOf(rights, moved)} of 100 times`;
    moved.setAttribute("aria-valuetext", `right ${stopOf(rights, moved)} of 100 times`);
  }
  find("#state").textContent = "Saving …";
  clearTimeout(resting);
  resting = setTimeout(save, REST);
});

// --- the offer of a mixer ---------------------------------------------------------------------------

const LARGEST_OFFER = 4096; // characters
const NO_OFFER = "This is no offer of a mixer. Paste the whole text of the file that its owner gave you.";

/** Puts an offer into the draft; the server looks at it with the figures. Throws Refused where it is none.
 * @param {string} text */
async function bring(text) {
  let offer;
  try {
    offer = JSON.parse(text);
  } catch {
    throw new Refused(NO_OFFER);
  }
  if (!offer || typeof offer !== "object" || text.length > LARGEST_OFFER) throw new Refused(NO_OFFER);
  const { mixer } = draft.newest;
  if (mixer) draft.change({ do: "put", question: null, key: "mixer", value: { ...mixer, offer, open: undefined } });
  else draft.change({ do: "put", question: null, key: "offer", value: offer });
  /** @type {HTMLTextAreaElement} */ (find("#offer")).value = "";
  /** @type {HTMLDetailsElement} */ (find("#offering")).open = false;
}

find("#bring").addEventListener("submit", (event) => {
  event.preventDefault();
  void trying(() => bring(/** @type {HTMLTextAreaElement} */ (find("#offer")).value));
});
find("#offer-file").addEventListener("change", async (event) => {
  const chosen = /** @type {HTMLInputElement} */ (event.target);
  const text = await chosen.files?.[0]?.slice(0, LARGEST_OFFER + 1).text();
  chosen.value = ""; // the same file may be chosen again
  if (text) await trying(() => bring(text));
});

look(0);
