// Stands in for invited.js while a draft is tried out: whoever tries it is invited.

import { Coins } from "../core/coins.js";
import { update } from "../device/storage.js";
import { byId } from "./elements.js";

export const bring = async () => {};

/** @type {typeof import("./invited.js").enter} */
export async function enter(_, version, __, on) {
  const ticket = { id: new Coins().drawId(), ticket: "" };
  await update((memory) => ({ ...memory, tickets: { [version]: ticket } }));
  byId("untraded").hidden = true;
  byId("traded").hidden = false;
  byId("invitation").addEventListener("submit", (event) => {
    event.preventDefault();
    on();
  });
  return () => false;
}
