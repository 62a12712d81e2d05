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
 * Throws Refused with the path unless the condition holds, and with the value that is wrong, if one is
 * given: at most 64 characters of it, none of which steers a screen.
 * @type {(condition: boolean, path: string, sentence: string, ...wrong: unknown[]) => void}
 */
export function must(condition, path, sentence, ...wrong) {
  if (!condition) throw new Refused(`${path}: ${sentence}${wrong.map(found).join("")}`);
}

const found = (/** @type {unknown} */ value) => {
  const json = typeof value === "bigint" ? `${value}` : `${JSON.stringify(value)}`;
  return `${FOUND}${json.slice(0, 64).replace(/\p{C}/gu, "?")}`;
};

export const FOUND = "; found ";
