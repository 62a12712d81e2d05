// The page of a closed survey with a mixer: says whether what this device sealed has arrived. Nothing is
// asked of the server for people who did not answer on this device.

import { countArrived } from "../device/arrival.js";
import { read } from "../device/storage.js";
import { words } from "../wording/words.js";
import { api, byId, survey, version } from "./elements.js";

const place = byId("arrived");

/** @type {(text: string) => void} */
function say(text) {
  place.textContent = text;
  place.hidden = false;
}

/** Looks for the envelopes, and says what became of them. */
async function look() {
  const { inner, sent } = (await read()).reports[version] ?? {};
  if (!inner) return;
  say(words("arrived.looking"));
  const [count, all] = [await countArrived(api, inner), inner.length];
  const by = survey.dataset["by"] ?? "";
  // An envelope that was not acknowledged may have arrived all the same.
  if (count === undefined) say(sent ? words("arrived.later", { by }) : words("arrived.unknown"));
  else if (count === 0 && !sent) say(words("arrived.unsent"));
  else say(words(count === all ? "arrived.all" : "arrived.lost", { count, all, by }));
}

await look().catch(() => say(words("arrived.unknown")));
