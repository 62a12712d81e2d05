// The types of what a device keeps and sends, apart from what respondents download.

import type { Coins } from "../core/coins.js";
import type { Answers, Definition, Question } from "../survey/types.js";

/** One charge; its fractions are texts. `author` is a public key, or empty. No answer is here. */
export interface LedgerEntry {
  day: string;
  author: string;
  survey: string;
  version: string;
  question: string;
  odds: string;
  exponent: string;
  delta: string;
}

/** What limits are for: one version of a survey, one author, everything. */
export type Scope = "survey" | "author" | "overall";

/** The largest epsilon of each, as plain decimals. */
export type Limits = Record<Scope, string>;

/** The whole memory of a device, by SPEC section 7. */
export interface Memory {
  spec: 1;
  ledger: readonly LedgerEntry[];
  reports: Record<string, { text: string; sent: boolean }>;
  memos: Record<string, number[]>;
  authors: Record<string, string[]>;
  registers: Record<string, { count: number; head: string }>;
  tickets?: Record<string, Ticket>;
  trades?: Record<string, Trade>;
  waves?: Record<string, { count: number; sent: number }>;
}

/** What an invitation was traded for: the id of the report, and who signed that without seeing it. */
export interface Ticket {
  id: string;
  ticket: string;
}

/** What is needed to trade an invitation, and to trade it again where no answer came. */
export interface Trade {
  blinded: string;
  code: string;
  id: string;
  inverse: string;
  prefix: string;
}

/** What a respondent says to one version of a survey, and what of it has changed. */
export interface Answering {
  definition: Definition;
  version: string;
  answers: Answers;
  author?: string;
  day?: string;
  drawn?: readonly Question[] | undefined;
  changed?: readonly string[];
  limits?: Limits;
  /** Only tests bring coins. */
  coins?: Coins;
}

/** A page as the server sent it. */
export interface Page {
  headers: [string, string][];
  body: string;
}

/** The keys of what is kept; no script can read them. */
export interface Keys {
  cipher: CryptoKey;
  names: CryptoKey;
}

/** What a service worker sees of a request (the DOM's own types do not know workers). */
export interface Fetching {
  request: Request;
  respondWith(response: Promise<Response>): void;
}

export interface Worker {
  addEventListener(name: "install", listener: () => void): void;
  addEventListener(
    name: "activate",
    listener: (event: { waitUntil(work: Promise<void>): void }) => void,
  ): void;
  addEventListener(name: "fetch", listener: (event: Fetching) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
}
