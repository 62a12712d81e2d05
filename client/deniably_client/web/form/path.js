// Finds the way through a survey with `ask` or `show_if`. Loaded only where needed.

import { drawQuestions, hiddenQuestions } from "../survey/conditions.js";
import { words } from "../wording/words.js";

/** @import { Answers, Definition, Question } from "../survey/types.js" */
/** @import { Path } from "./types.js" */

/**
 * Returns the way through the questions. They are drawn here, once and before anything is
 * answered, unless `drawn` gives them. Their conditions are looked at anew as answers change.
 * @param {readonly HTMLFormElement[]} forms one for each question, in order
 * @param {Definition} definition
 * @param {(forms: readonly HTMLFormElement[]) => Answers} answered what they say now
 * @param {readonly Question[]} [drawn]
 * @returns {Path}
 */
export function follow(forms, definition, answered, drawn = drawQuestions(definition)) {
  const names = drawn.map(({ name }) => name);

  function shown() {
    const hidden = hiddenQuestions({ questions: drawn }, answered(forms));
    return forms.filter(({ dataset: { question = "" } }) => {
      return names.includes(question) && !hidden.includes(question);
    });
  }

  /** @type {Path["nearest"]} */
  function nearest(number, current) {
    const onwards = number < current ? -1 : 1;
    for (let at = number; ; at += onwards) {
      const form = forms[at - 1];
      // No form is at the start and at the check page: the search ends there.
      if (form === undefined || shown().includes(form)) return at;
    }
  }

  // The server numbered all questions; this person sees fewer.
  if (drawn.length < definition.questions.length) {
    shown().forEach((form, i) => {
      const progress = form.querySelector(".progress");
      if (!progress) return;
      progress.textContent = words("script.progress", { number: i + 1, all: drawn.length });
    });
  }
  return { drawn, shown, nearest };
}
