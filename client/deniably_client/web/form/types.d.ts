// The types of the form, apart from what respondents download.

import type { Definition, Question } from "../survey/types.js";
import type { VerifiedSurvey } from "../trust/types.js";

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

/** What the form knows, and what of it changes while it is answered. */
export interface State {
  /** Once it is verified. */
  definition: Definition;
  /** Once the server was met. */
  verified: VerifiedSurvey;
  /**
   * Nobody is asked before the survey is trusted; and once the coins are thrown there is no way
   * back: fresh coins would weaken the first ones.
   */
  locked: boolean;
  /** Whether this page has sent, or tried to. */
  sent: boolean;
  /** The step that is seen: 0 is the start, then come the questions, then the check page. */
  current: number;
  /** Which questions this person is asked: all, unless the survey says otherwise. */
  path: Path;
  /** The questions that chance picked for this person, where it picks some. */
  drawn: Path["drawn"];
  /** Reads questions that are more than one choice, where there are some. */
  readFields: ((form: HTMLFormElement) => Answer) | undefined;
  /** Whether this person cannot go on yet, for want of an invitation. */
  barred(): boolean;
  /** What this device made for the survey before. */
  kept: { text: string; sent: boolean } | undefined;
  /** The questions whose answers have changed since then. */
  changed: string[];
}
