// The types of the register, apart from what respondents download.

/** How far a register was seen: its entries and the hash of the last. */
export interface RegisterCheckpoint {
  count: number;
  head: string;
}

/** What a device knows of servers, by origin: a part of its memory. */
export interface Known {
  authors: Readonly<Record<string, readonly string[]>>;
  registers: Readonly<Record<string, RegisterCheckpoint>>;
}

/** Who asks, with the fingerprint of the author's key, and the register that was seen. */
export interface VerifiedSurvey extends RegisterCheckpoint {
  origin: string;
  author: string;
  fingerprint: string;
  /** The key of its invitations, where it has such. */
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
