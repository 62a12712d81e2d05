// Answers a survey with a mixer: the memory keeps the envelope that is sent to it (SPEC section 7). What was
// sealed stays as it is.

import { canonicalise } from "../core/canonical.js";
import { Coins } from "../core/coins.js";
import { BadAnswer } from "../core/errors.js";
import { decimal, fraction } from "../core/fraction.js";
import { makeReport } from "../survey/report.js";
import { LIMITS, charge } from "./ledger.js";
import { chargeDay, charges, countedSince, today } from "./memory.js";

/** @import { Question } from "../survey/types.js" */
/** @import { Answering, CountedSince, Envelopes, LedgerEntry, Memory, OfMixer } from "./types.js" */

/**
 * Returns the questions to ask, randomise and charge: all, or none where they were sealed before. Throws
 * BadAnswer where answers have changed.
 * @type {(memory: Memory, answering: Omit<Answering, "answers">) => readonly Question[]}
 */
export function questionsToSeal(memory, { definition, version, changed = [] }) {
  if (changed.length > 0) throw new BadAnswer("what was sealed for a mixer stays as it is");
  return memory.reports[version] ? [] : definition.questions;
}

/**
 * Returns the ledger entries for these questions of a survey with a mixer. The mixer's claim is for the
 * whole survey: it is in the first entry, and 0 in all others.
 * @type {(definition: OfMixer, version: string, fresh: readonly Question[], author: string,
 *   day: string) => LedgerEntry[]}
 */
export const mixedCharges = (definition, version, fresh, author, day) =>
  charges(definition, version, fresh, author, day).map((entry, i) => {
    const { claim, signing } = definition.mixer;
    const [epsilon, delta] = i ? ["0", "0"] : [claim.epsilon, claim.delta];
    const texts = { epsilon: fraction(...decimal(epsilon)), delta: fraction(...decimal(delta)) };
    return { ...entry, mixed: { ...texts, mixer: signing } };
  });

/**
 * Returns what answering would do: the questions to seal (`fresh`), the ledger afterwards, and the days
 * `since` which charges count. Throws BudgetSpent where a limit would be exceeded, and BadAnswer where
 * answers have changed.
 * @type {(memory: Memory, answering: Omit<Answering, "answers"> & {definition: OfMixer}) =>
 *   {fresh: readonly Question[], ledger: readonly LedgerEntry[], since: CountedSince}}
 */
export function planThroughMixer(memory, answering) {
  const { definition, version, author = "", day = today(), limits = LIMITS } = answering;
  const fresh = questionsToSeal(memory, answering);
  const entries = mixedCharges(definition, version, fresh, author, chargeDay(memory, author, day));
  const since = countedSince(memory, author, day);
  return { fresh, ledger: charge(memory.ledger, entries, limits, since), since };
}

/**
 * Answers the survey; returns the memory with the new charges and the envelope. Where it was answered
 * before, the memory stays as it is: the same bytes are sent again.
 *
 * `seal` makes the envelopes of the texts of the reports, one for each question. Throws BudgetSpent before
 * anything is drawn, BadAnswer, Refused, and what `seal` throws.
 * @type {(memory: Memory, answering: Answering & {definition: OfMixer},
 *   seal: (texts: string[]) => Promise<Envelopes>) => Promise<Memory>}
 */
export async function answerThroughMixer(memory, answering, seal) {
  const { definition, version, answers, coins = new Coins() } = answering;
  // First, because this throws where the budget is spent: nothing may be drawn then.
  const { fresh, ledger } = planThroughMixer(memory, answering);
  if (fresh.length === 0) return memory;
  const made = await makeReport(definition, version, answers, coins);
  /** @type {{values: Record<string, number[]>}} */
  const { values } = JSON.parse(made.text);
  const texts = fresh.map(({ name }, i) => {
    // The first report keeps the id of the whole one, which was drawn after all values.
    const id = i ? coins.drawId() : made.id;
    return canonicalise({ survey: version, id, values: { [name]: values[name] } });
  });
  const { outer, inner } = await seal(texts);
  // In the order of their hashes, so that none shows which question it is for.
  const kept = { sealed: outer, inner: [...inner].sort(), sent: false };
  return { ...memory, ledger, reports: { ...memory.reports, [version]: kept } };
}

/**
 * Returns the memory with another envelope to the mixer, which refused the code in the first one. It has
 * the same envelopes in it: nothing is randomised or charged again. No change where it has others, or
 * was sent.
 * @type {(memory: Memory, version: string, envelopes: Envelopes) => Memory}
 */
export function changeCode(memory, version, { outer, inner }) {
  const kept = memory.reports[version];
  if (!kept || kept.sent || `${kept.inner}` !== `${[...inner].sort()}`) return memory;
  return { ...memory, reports: { ...memory.reports, [version]: { ...kept, sealed: outer } } };
}

/**
 * Marks this envelope as sent.
 * @type {(memory: Memory, version: string, sealed: string) => Memory}
 */
export function markSealedSent(memory, version, sealed) {
  const kept = memory.reports[version];
  if (kept?.sealed !== sealed) return memory;
  return { ...memory, reports: { ...memory.reports, [version]: { ...kept, sent: true } } };
}
