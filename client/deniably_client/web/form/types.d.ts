// The types of the form, apart from what respondents download.

import type { Question } from "../survey/types.js";

/** What a form says, with a text for the check page; or what is missing in it, as a sentence, and a
 * heading for it where the question's own does not fit. */
export interface Answer {
  answer?: string | string[] | Map<string, string>;
  text?: string;
  missing?: string;
  heading?: string;
}

/** The questions that one person is asked. `nearest` is the next step on the way to a step that
 * this person does not see, coming from another. */
export interface Path {
  drawn: readonly Question[] | undefined;
  shown(): readonly HTMLFormElement[];
  nearest(number: number, current: number): number;
}
