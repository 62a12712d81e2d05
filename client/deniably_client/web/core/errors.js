// The errors that stop a device. No message ever holds an answer.

class DeniablyError extends Error {
  /** @param {string} sentence */
  constructor(sentence) {
    super(sentence);
    this.name = new.target.name;
  }
}

/** The device will not or cannot answer this survey. The message says why, in English. */
export class Refused extends DeniablyError {
  /** The type of the server's problem details, where the server refuses. */
  type = "";
}

/** A refusal whose message is for the respondent, in the page's language. */
export class Localised extends Refused {}

/** This device has sent a report in every wave that the panel stated. */
export class WavesSent extends Refused {}

/** The author is not one that the device knows at this server. Both fields are fingerprints. */
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

/** An answer is missing or invalid. */
export class BadAnswer extends DeniablyError {}

/**
 * Throws Refused with the path unless the condition holds.
 * @type {(condition: boolean, path: string, sentence: string) => void}
 */
export function must(condition, path, sentence) {
  if (!condition) throw new Refused(`${path}: ${sentence}`);
}
