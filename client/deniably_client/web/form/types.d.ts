// Types of the form. Respondents do not download this file.

import type { Definition, Question, Stratum } from "../survey/types.js";
import type { VerifiedSurvey } from "../trust/types.js";

/** An answer with its text for the check page; or a sentence that says what is missing, and a
 * heading where the question's own does not fit. */
export interface Answer {
  answer?: string | string[] | Map<string, string>;
  text?: string;
  missing?: string;
  heading?: string;
}

/**
 * The questions that one person is asked. `drawn` are those that `ask` or a part left; undefined
 * where all are asked. `shown` are the forms whose conditions hold now. `nearest` is the number of
 * the first step that is shown, from `number` on, in the direction from `current` to it.
 */
export interface Path {
  drawn: readonly Question[] | undefined;
  shown(): readonly HTMLFormElement[];
  nearest(number: number, current: number): number;
}

/** The form's state while it is answered. */
export interface State {
  /** Set once it is verified. */
  definition: Definition;
  /** Set once its listing in the register is verified. */
  verified: VerifiedSurvey;
  /**
   * Nothing is asked before the survey is verified. Once an answer is randomised there is no way
   * back: a second randomisation would weaken the first.
   */
  locked: boolean;
  /** Whether this page has sent a report, or tried to. */
  sent: boolean;
  /** The step that is seen: 0 is the start, then come the questions, then the check page. */
  current: number;
  /** Which questions this person is asked: all, unless the survey says otherwise. */
  path: Path;
  /** The questions drawn for this person, where the survey has `ask`. */
  drawn: Path["drawn"];
  /** Reads questions beyond a single choice, where there are some. */
  readFields: ((form: HTMLFormElement) => Answer) | undefined;
  /** Whether this person still needs an invitation. */
  barred(): boolean;
  /** That of this person's report, where the survey has strata. */
  stratum?: Stratum;
  /** The report that this device made for the survey before. */
  kept: { text: string; sent: boolean } | undefined;
  /** The questions whose answers have changed since then. */
  changed: string[];
}
