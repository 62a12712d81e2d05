// Types of the register. Respondents do not download this file.

/** How far a register was verified: the count of its entries, and the hash and day of the last. */
export interface RegisterCheckpoint {
  count: number;
  head: string;
  /** Where that is a date. */
  day?: string;
}

/** The known authors and registers by server origin, a part of the memory. */
export interface Known {
  authors: Readonly<Record<string, readonly string[]>>;
  registers: Readonly<Record<string, RegisterCheckpoint>>;
}

/** A verified survey's author, with the key's fingerprint, and the register's checkpoint. */
export interface VerifiedSurvey extends RegisterCheckpoint {
  origin: string;
  author: string;
  fingerprint: string;
  /** The key that signs its invitations' tickets, for a survey by invitation. */
  invitations?: string;
}

/** The entry of a published survey in the register. */
export interface Published {
  number: number;
  previous: string;
  event: string;
  day: string;
  survey: string;
  digest: string;
  author: string;
  signature: string;
  epsilon: string;
  delta: string;
  history?: string;
  invitations?: string;
  questions: { name: string; mechanism: string; epsilon: string }[];
}
