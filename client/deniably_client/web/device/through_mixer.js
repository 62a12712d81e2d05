// Answers a survey with a mixer: the memory keeps the envelope that is sent to it (SPEC section 7).

import { canonicalise } from "../core/canonical.js";
import { Coins } from "../core/coins.js";
import { must } from "../core/errors.js";
import { makeReport } from "../survey/report.js";
import { plan } from "./memory.js";

/** @import { Answering, Envelopes, Memory } from "./types.js" */

/**
 * Answers the survey; returns the memory with the new charges and the envelope. Where it was answered
 * before, the memory stays as it is: the same bytes are sent again.
 *
 * `seal` makes the envelopes of the texts of the reports, one for each question. Throws BudgetSpent before
 * anything is drawn, BadAnswer, Refused, and what `seal` throws.
 * @type {(memory: Memory, answering: Answering, seal: (texts: string[]) => Promise<Envelopes>) =>
 *   Promise<Memory>}
 */
export async function answerThroughMixer(memory, answering, seal) {
  const { definition, version, answers, coins = new Coins() } = answering;
  must(definition.mixer !== undefined, "survey", "has no mixer");
  if (memory.reports[version]) return memory;
  const { ledger } = await plan(memory, answering);
  const made = await makeReport(definition, version, answers, coins);
  /** @type {{values: Record<string, number[]>}} */
  const { values } = JSON.parse(made.text);
  const texts = definition.questions.map(({ name }, i) => {
    // The first report keeps the id of the whole one, which was drawn after all values.
    const id = i ? coins.drawId() : made.id;
    return canonicalise({ survey: version, id, values: { [name]: values[name] } });
  });
  const { outer, inner } = await seal(texts);
  // In the order of their hashes, so that none shows which question it is for.
  const kept = { sealed: outer, inner: [...inner].sort(), sent: false };
  return { ...memory, ledger, reports: { ...memory.reports, [version]: kept } };
}
