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

/** What signs in this browser. `key` cannot be exported; `author` is the public key, `number` its
 * fingerprint, `day` that of the copy. */
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

/** A question as a page shows it: its text, and the answers that its author wrote. */
export interface ShownQuestion {
  label: string;
  answers: string[];
}

/** What the page shows of a survey that it is about to sign. */
export interface Shown {
  name: string;
  title: string;
  questions: ShownQuestion[];
  minimum: number;
  analysts: boolean;
}

/** The author and the signature, in hexadecimal. */
export interface Signed {
  author: string;
  signature: string;
}
