// Shows this device's memory on the page: the privacy loss before and after this report, the survey
// answered before, and how to forget.

import { Localised, WavesSent } from "../core/errors.js";
import { BudgetSpent, LIMITS, counted, firstToLeave, share, totalLoss } from "../device/ledger.js";
import { answer, freshQuestions, knownQuestions, plan } from "../device/memory.js";
import { partOf, withOrder } from "../device/part.js";
import { Damaged, forget, keeps, read, update } from "../device/storage.js";
import { remember } from "../trust/register.js";
import { day, words } from "../wording/words.js";
import { all } from "./elements.js";

/** @import { Loss } from "../core/types.js" */
/** @import { Answers, Question } from "../survey/types.js" */
/** @import { VerifiedSurvey } from "../trust/types.js" */
/** @import { Answering, Memory, Scope } from "../device/types.js" */

const SPENT = {
  survey: "script.survey_spent",
  author: "script.author_spent",
  overall: "script.overall_spent",
};

/** @type {(selector: string, shown: boolean) => void} shows or hides what matches */
export function reveal(selector, shown) {
  for (const place of all(selector, HTMLElement)) place.hidden = !shown;
}

/**
 * One survey, its author and the questions that are asked of one person.
 * @typedef {Omit<Answering, "answers" | "changed"> & {verified: VerifiedSurvey}} About
 */

/**
 * The memory, with the author and the register that were verified just now; nothing is stored yet.
 * @type {(about: About) => Promise<Memory>}
 */
export const recall = async ({ verified }) => remember(await read(), verified);

/**
 * Shows the memory. Returns `kept`, the stored report of this survey, if any, `known`, the names of the
 * questions answered in it or in earlier waves, and the questions `drawn`, or a part of them. Throws Localised where the budget is spent or the
 * memory cannot be read.
 * @param {About} about
 */
export async function remembered(about) {
  try {
    const keeping = await keeps();
    reveal("[data-transient]", !keeping);
    reveal("[data-stored]", keeping);
    const memory = await recall(about);
    const { definition, version, author } = about;
    const drawn = await divided(memory, about);
    await tell(await recall(about), { ...about, drawn }, []);
    const kept = memory.reports[version];
    const known = await knownQuestions(memory, definition, version, author);
    const { ledger, tickets, trades } = memory;
    reveal("[data-forget]", ledger.length > 0 || Boolean(tickets ?? trades));
    reveal("[data-first]", kept === undefined);
    reveal("[data-before]", kept !== undefined);
    reveal("[data-wave]", kept === undefined && known.length > 0);
    reveal("[data-known]", known.length > 0 && !(kept && definition.invited));
    for (const label of all("#changed label", HTMLElement)) {
      label.hidden = !known.includes(label.querySelector("input")?.value ?? "");
    }
    return { kept, known, drawn };
  } catch (error) {
    throw localised(error);
  }
}

/**
 * Returns the questions that were drawn for this device or, where its limits leave too little for
 * all of them, a part (SPEC 4.7). The order of a part is stored first, and decides from then on.
 * Tells the respondent that it is a part.
 * @type {(memory: Memory, about: About) => Promise<About["drawn"]>}
 */
async function divided(memory, about) {
  const { definition: { part: allowed }, version, verified } = about;
  if (!allowed || memory.reports[version]) return about.drawn;
  if (!memory.orders?.[version]) {
    try {
      await plan(memory, about);
      return about.drawn;
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error;
    }
  }
  const { ordered, part } = partOf(
    remember(await update((now) => withOrder(now, about)), verified), about,
  );
  const some = part.length > 0 && part.length < ordered.length;
  reveal("[data-part]", some);
  for (const place of all("[data-part] b", HTMLElement)) place.textContent = `${part.length}`;
  return some ? part : ordered.length > 0 ? ordered : about.drawn;
}

/**
 * Returns the questions to ask where the answers to `changed` have changed. Shows what they cost;
 * throws Localised where that exceeds a limit.
 * @type {(about: About, changed: readonly string[]) => Promise<readonly Question[]>}
 */
export async function changes(about, changed) {
  try {
    const memory = await recall(about);
    await tell(memory, about, changed);
    return await freshQuestions(memory, { ...about, changed });
  } catch (error) {
    throw localised(error);
  }
}

/**
 * Returns the memory, with the known authors and registers. Throws Localised where it is
 * unreadable.
 */
export async function whatIsKnown() {
  try {
    await keeps();
    return await read();
  } catch (error) {
    throw localised(error);
  }
}

/**
 * Randomises the answers and returns the text to send. The charge, the report, the author and the
 * register are stored before this returns. If another tab answered meanwhile, it is that tab's text.
 * @type {(about: About, answers: Answers, changed: readonly string[]) => Promise<string>}
 */
export async function record(about, answers, changed) {
  try {
    const memory = await update((memory) =>
      answer(remember(memory, about.verified), { ...about, answers, changed }),
    );
    reveal("[data-forget]", await keeps());
    return memory.reports[about.version]?.text ?? "";
  } catch (error) {
    throw localised(error);
  }
}

/**
 * Shows which shares of the limits are spent, before and after this report.
 * @type {(memory: Memory, about: About, changed: readonly string[]) => Promise<void>}
 */
async function tell(memory, about, changed) {
  const { version, author = "", limits = LIMITS } = about;
  const { ledger, since } = await plan(memory, { ...about, changed });
  const before = counted(memory.ledger, version, author, since);
  const after = counted(ledger, version, author, since);
  for (const scope of /** @type {Scope[]} */ (Object.keys(before))) {
    const cells = all(`[data-scope="${scope}"] :is(small,td)`, HTMLElement);
    const percent = (/** @type {Loss} */ loss) => ({ count: share(loss, limits[scope]) });
    const leaving = scope === "survey" ? undefined : firstToLeave(before[scope]);
    const texts = [
      leaving && words("script.until", { ...percent(leaving.loss), day: day(leaving.day) }),
      ...[before, after].map((each) => words("script.percent", percent(totalLoss(each[scope])))),
    ];
    for (const [i, cell] of cells.entries()) cell.textContent = texts[i] ?? "";
  }
}

/**
 * Returns the error to throw: in the page's language where respondents meet it.
 * @param {unknown} error
 */
export function localised(error) {
  if (error instanceof BudgetSpent) {
    const texts = [words(SPENT[error.scope], error.shares)];
    if (error.ofDelta) texts.push(words("script.chance_spent"));
    if (error.until) texts.push(words("script.back", { day: day(error.until) }));
    return new Localised(texts.join(" "));
  }
  if (error instanceof WavesSent) return new Localised(words("script.waves_sent"));
  if (!(error instanceof Damaged)) return error;
  reveal("[data-forget]", true);
  return new Localised(words("script.damaged"));
}

for (const button of all("[data-forget] button", HTMLElement)) {
  button.addEventListener("click", async () => {
    await forget();
    reveal("[data-forget] details", false);
    for (const place of all("[data-forget] [role=status]", HTMLElement)) {
      place.textContent = words("script.forgotten");
    }
  });
}
