// Types of the register. Respondents do not download this file.

/** How far a register was verified: the count of its entries, and the hash and day of the last. */
export interface RegisterCheckpoint {
  count: number;
  head: string;
  /** The day of the last entry, where that is a date. */
  day?: string;
  /** The rest of the head that the server signed; devices of before did not keep it. */
  log?: string;
  map?: string;
  key?: string;
  signature?: string;
}

/** Fetches the text at a path of the server, such as /register. */
export type More = (path: string) => Promise<string>;

/** A survey's entry with the signed head of the register, and proofs. */
export interface Listing {
  entry: Published;
  head: RegisterCheckpoint;
  /** The roots of the complete blocks of the log. */
  blocks: readonly string[];
  /** The hashes of the entries of the last complete block, and of those after it. */
  recent: readonly string[];
  /** The siblings of an entry that is not recent below its block's root, from the top. */
  log_path: readonly string[];
  /** The siblings between the entry and the root of the map, from the top. */
  map_path: readonly string[];
}

/** The known authors and registers by server origin, a part of the memory. */
export interface Known {
  authors: Readonly<Record<string, readonly string[]>>;
  registers: Readonly<Record<string, RegisterCheckpoint>>;
}

/** An accepted author, with the key's fingerprint. */
export interface Accepted {
  origin: string;
  author: string;
  fingerprint: string;
  /** The key that signs its invitations' tickets, for a survey by invitation. */
  invitations?: string;
}

/** A verified survey's author, how far the register was `seen`, and its seal for people to compare. */
export interface VerifiedSurvey extends Accepted {
  seal: string;
  seen: RegisterCheckpoint;
}

/** The entry of a published survey in the register (SPEC 10). */
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
  /** What a survey with a mixer gives away against its server alone, and the mixer's signing key. */
  mixed?: { epsilon: string; delta: string };
  mixer?: string;
  questions: { name: string; mechanism: string; epsilon: string }[];
}

/**
 * What a mixer states of a survey. `survey` is the version, `until` the last day on which it takes
 * answers. `invitations` is how many codes it has issued, 0 where nobody needs one; `senders` is how
 * many people have sent, in tens.
 */
export interface Statement {
  by: string;
  invitations: number;
  senders: number;
  signature: string;
  survey: string;
  until: string;
}
