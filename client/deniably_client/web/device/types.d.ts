// Types of what a device stores and sends. Respondents do not download this file.

import type { Coins } from "../core/coins.js";
import type { Answers, Definition, Mixer, Question, Stratum } from "../survey/types.js";

/**
 * One charge: the privacy loss of one question. `odds`, `exponent` and `delta` are fractions as
 * texts; `version` is the digest of the survey's definition, `author` a public key, or empty. It
 * holds no answer.
 */
export interface LedgerEntry {
  day: string;
  author: string;
  survey: string;
  version: string;
  question: string;
  odds: string;
  exponent: string;
  delta: string;
  /** In a survey with a mixer: what counts against its server alone, of the mixer with this key. */
  mixed?: { epsilon: string; delta: string; mixer: string };
}

/** What a limit applies to: one version of a survey, one author, or everything. */
export type Scope = "survey" | "author" | "overall";

/** The largest epsilon of each, as plain decimals. */
export type Limits = Record<Scope, string>;

/** The first day whose charges count in a total; empty where every day counts. */
export type CountedSince = Record<Exclude<Scope, "survey">, string>;

/** The whole memory of a device (SPEC section 7). */
export interface Memory {
  spec: 1;
  ledger: readonly LedgerEntry[];
  /** By version of the survey: the report as it is sent, or its envelope, and whether it was. */
  reports: Record<string, Kept>;
  /** By author, panel and question: the randomised answer that all waves report from. */
  memos: Record<string, number[]>;
  /** The keys of known authors, by origin of the server. */
  authors: Record<string, string[]>;
  registers: Record<string, { count: number; head: string; day?: string }>;
  tickets?: Record<string, Ticket>;
  trades?: Record<string, Trade>;
  /** By the keys of memos: how many waves were stated, and how many reports were made. */
  waves?: Record<string, { count: number; sent: number }>;
  /** By version: the questions in the order that was drawn for answering a part (SPEC 4.7). */
  orders?: Record<string, string[]>;
}

/**
 * What a device made for a survey. `text` is a report. Through a mixer `sealed` is the envelope instead, in
 * hexadecimal, and `inner` are the hashes of the envelopes in it.
 */
export interface Kept {
  sent: boolean;
  text?: string;
  sealed?: string;
  inner?: string[];
}

/** The definition of a survey with a mixer. */
export type OfMixer = Definition & { mixer: Mixer };

/** An envelope to a mixer, in hexadecimal, and the SHA-256 of each envelope in it. */
export interface Envelopes {
  outer: string;
  inner: readonly string[];
}

/** What an invitation was traded for: the report's id and its blind signature. */
export interface Ticket {
  id: string;
  ticket: string;
}

/** A trade of an invitation, kept so that it can be repeated where no answer came (SPEC 11.4). */
export interface Trade {
  blinded: string;
  code: string;
  id: string;
  inverse: string;
  prefix: string;
}

/** A respondent's answers to one version of a survey, and the names of those that changed. */
export interface Answering {
  definition: Definition;
  version: string;
  answers: Answers;
  author?: string;
  day?: string;
  drawn?: readonly Question[] | undefined;
  changed?: readonly string[];
  /** Of the link, where the survey has strata. */
  stratum?: Stratum | undefined;
  limits?: Limits;
  /** For tests only. */
  coins?: Coins;
}

/** A page as the server sent it. */
export interface Page {
  headers: [string, string][];
  body: string;
}

/** The keys of the stored pages; scripts cannot export them. */
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
