// What this device says instead of going on. No message ever holds an answer.

class DeniablyError extends Error {
  /** @param {string} sentence */
  constructor(sentence) {
    super(sentence);
    this.name = new.target.name;
  }
}

/** The device will not answer this survey, or cannot: the sentence, in English, says why. */
export class Refused extends DeniablyError {
  /** The type of the server's problem, where it is the server that refuses. */
  type = "";
}

/** The same, where the sentence is in the language of the page and for the respondent. */
export class Localised extends Refused {}

/** This device has made the reports of all waves that were stated for a panel. */
export class WavesSent extends Refused {}

/** Another author signed than those that the device knows at this server; fingerprints. */
export class AuthorChanged extends Refused {
  /**
   * @param {string} fingerprint
   * @param {string[]} known
   */
  constructor(fingerprint, known) {
    super(`another author asks: ${fingerprint}, and before ${known.join(" or ")}`);
    this.fingerprint = fingerprint;
    this.known = known;
  }
}

/** An answer is missing or is none of the question's choices. */
export class BadAnswer extends DeniablyError {}

/**
 * Refuses unless the condition holds at this place of a definition.
 * @type {(condition: boolean, path: string, sentence: string) => void}
 */
export function must(condition, path, sentence) {
  if (!condition) throw new Refused(`${path}: ${sentence}`);
}
