// The privacy page of a draft: a way to ask is taken with one press, and taken back with one. What each
// costs and shows is worked out by the server; nothing about privacy is computed here.

import { Draft } from "./draft.js";
import { find } from "./exchange.js";
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

// --- one protection for all -------------------------------------------------------------------------

const slider = () => /** @type {HTMLInputElement | null} */ (document.querySelector("#budget"));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let resting;

function save() {
  const moved = slider();
  if (!moved || resting === undefined) return;
  clearTimeout(resting);
  resting = undefined;
  const epsilon = Number(moved.dataset.stops?.split(" ")[Number(moved.value)]);
  if (epsilon === draft.newest.budget?.epsilon) return;
  draft.unsaved.add({ do: "put", question: null, key: "budget", value: { ...draft.newest.budget, epsilon } });
}

desk.addEventListener("input", (event) => {
  const moved = slider();
  if (!moved || event.target !== moved) return;
  const stop = moved.dataset.shown?.split(" ")[Number(moved.value)];
  moved.setAttribute("aria-valuetext", `at most ${stop} of 100`);
  find("#at-most").textContent = `at most ${stop} of 100`;
  find("#state").textContent = "Saving …";
  clearTimeout(resting);
  resting = setTimeout(save, REST);
});

look(0);
