// A part of a survey's questions, where too little of the budget is left for all (SPEC section 4.7). It
// depends on chance, on public losses and on the ledger, and on no answer.

import { Coins } from "../core/coins.js";
import { LIMITS, checkAll } from "./ledger.js";
import { chargeDay, charges, countedSince, today } from "./memory.js";

/** @import { Question } from "../survey/types.js" */
/** @import { Answering, Memory } from "./types.js" */

/**
 * Returns the memory with a random order of the questions that this device can be asked; drawn
 * where there is none. Keep the memory before anything of the order is shown: else a reload would
 * draw again.
 * @type {(memory: Memory, answering: Omit<Answering, "answers">) => Memory}
 */
export function withOrder(memory, { definition: { questions, ask }, version, coins = new Coins() }) {
  const { orders = {}, reports } = memory;
  if (orders[version] || reports[version]) return memory;
  const drawn = coins.pick(questions.length, questions.length).slice(0, ask);
  const names = drawn.map((i) => /** @type {Question} */ (questions[i]).name);
  return { ...memory, orders: { ...orders, [version]: names } };
}

/**
 * Returns the questions of the order that the memory keeps (`ordered`), and those of them that the
 * limits leave room for (`part`), both in the survey's order. They are taken in the drawn order; a
 * question that no longer fits is skipped.
 * @type {(memory: Memory, answering: Omit<Answering, "answers">) =>
 *   {ordered: readonly Question[], part: readonly Question[]}}
 */
export function partOf(memory, { definition, version, author = "", day = today(), limits = LIMITS }) {
  const { questions } = definition;
  const order = memory.orders?.[version] ?? [];
  const since = countedSince(memory, author, day);
  /** @type {(names: readonly string[]) => Question[]} */
  const named = (names) => questions.filter(({ name }) => names.includes(name));
  /** @type {string[]} */
  let taken = [];
  for (const name of order) {
    const more = [...taken, name];
    const day_ = chargeDay(memory, author, day);
    const entries = charges(definition, version, named(more), author, day_);
    try {
      checkAll(memory.ledger, entries, limits, since);
      taken = more;
    } catch {
      continue;
    }
  }
  return { ordered: named(order), part: named(taken) };
}
