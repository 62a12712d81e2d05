// Finds and shows the stratum of this person's report (SPEC section 4.6), before the form starts. Only the
// forms of surveys with strata run this module.

import { parse } from "../core/canonical.js";
import { earlier } from "../device/memory.js";
import { read } from "../device/storage.js";
import { stratumIn } from "../survey/strata.js";
import { all, byId, fill, survey, version } from "./elements.js";
import { state } from "./state.js";

/** @import { Definition, Stratum } from "../survey/types.js" */

/**
 * Returns the stratum of the report that this device made before, else that of the link. A page
 * that is kept for use without a network may be opened without the end of its link; the page then
 * has the link for which it was rendered.
 * @returns {Promise<Stratum>}
 */
async function found() {
  const before = await read().then((memory) => earlier(memory, version), () => undefined);
  if (before?.strata) return before.strata;
  const definition = /** @type {Definition} */ (parse(byId("definition").textContent ?? ""));
  try {
    return stratumIn(definition, location.search);
  } catch {
    return stratumIn(definition, survey.dataset["link"] ?? "");
  }
}

try {
  state.stratum = await found();
  for (const place of all("[data-stratum]", HTMLElement)) {
    fill(place, state.stratum[place.dataset["stratum"] ?? ""]);
  }
} catch {
  // The form does not trust such a definition either, and says why.
}
