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

/** This device has sent a report in each of the waves whose number the panel stated. */
export class WavesSent extends Refused {}

/**
 * The survey's author is not one that the device knows at this server. `fingerprint` is that of
 * the new author's key, `known` are those of the known keys.
 */
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
 * Throws Refused unless the condition holds. The message has the path, the sentence, and of the
 * `wrong` value, if one is given, at most 64 characters; control characters are replaced.
 * @type {(condition: boolean, path: string, sentence: string, ...wrong: unknown[]) => void}
 */
export function must(condition, path, sentence, ...wrong) {
  if (!condition) throw new Refused(`${path}: ${sentence}${wrong.map(found).join("")}`);
}

const found = (/** @type {unknown} */ value) => {
  // JSON.stringify throws for a BigInt.
  const json = typeof value === "bigint" ? `${value}` : `${JSON.stringify(value)}`;
  return `${FOUND}${json.slice(0, 64).replace(/\p{C}/gu, "?")}`;
};

/** What stands before the wrong value in a message; memory.js cuts messages off here. */
export const FOUND = "; found ";
