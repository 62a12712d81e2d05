// Types of the author's studio. Browsers do not download this file.

/** A copy of a signature as its file has it; six words open it. */
export interface Copy {
  group: string;
  number: string;
  day: string;
  salt: Uint8Array<ArrayBuffer>;
  vector: Uint8Array<ArrayBuffer>;
  sealed: Uint8Array<ArrayBuffer>;
}

/**
 * The key that signs in this browser. `key` cannot be exported; `author` is the public key,
 * `number` its fingerprint, `day` the date on which its copy was made.
 */
export interface Own {
  key: CryptoKey;
  author: string;
  number: string;
  group: string;
  day: string;
}

/** A new signature, with the copy that is to be saved and the words that are shown once. */
export interface Made {
  own: Own;
  copy: string;
  words: string[];
}

/** A question as its author wrote it: texts, answers, and how often a guess is right, or what the `coins` do in
 * which its protection is stated; empty where it has no protection of its own. */
export interface ShownQuestion {
  label: string;
  hint: string;
  answers: string[];
  protection: string;
  coins: boolean;
}

/** What the page has of a survey's mixer: who runs it, where it is, its keys and the server's (`open`), what the
 * server alone can guess of all answers, what both can guess of one, and of how many people this fails for one. */
export interface ShownMixer {
  by: string;
  address: string;
  key: string;
  signing: string;
  open: string;
  alone: string;
  both: string;
  fails: string;
}

/** What the page has of a survey that it is about to sign. `budget` is the epsilon of all questions together;
 * null where each has its own. */
export interface Shown {
  name: string;
  title: string;
  intro: string;
  /** What the author wrote about the study: who is responsible, the legal basis and so on. */
  facts: string[];
  contact: string;
  budget: number | null;
  mixer: ShownMixer | null;
  questions: ShownQuestion[];
  minimum: number;
  analysts: boolean;
}

/** The author and the signature, in hexadecimal. */
export interface Signed {
  author: string;
  signature: string;
}
