// The types of these modules, apart from what respondents download.

import type { Coins } from "./coins.js";

/** Gives the next `count` random bytes. */
export type Source = (count: number) => Uint8Array;

/** Numerator and denominator, which is above 0; in lowest terms only where that is said. */
export type Fraction = [bigint, bigint];

/** Throws Refused unless the value at the path of a definition is as it must be. */
export type Check = (value: any, path: string) => void;

/**
 * A report shifts the odds between two answers at most `odds * e^exponent` times, except with
 * probability `delta`.
 */
export interface Loss {
  odds: Fraction;
  exponent: Fraction;
  delta: Fraction;
}

export interface Claim {
  epsilon?: string;
  odds?: string;
  delta?: string;
  history?: Claim;
}

// --- mechanisms -------------------------------------------------------------------------------

/** A mechanism's name and its parameters, as they are published. */
export type Mechanism = { name: string } & Record<string, any>;

/** What a mechanism randomises: an index or a position, several ticks, several positions. */
export type Input = number | readonly number[];

/**
 * What mechanisms of one name do. `check` throws Refused where the parameters make no
 * mechanism; `loss` and `randomise` take checked ones. `randomise` makes the report of an answer,
 * a list of integers, and throws BadAnswer before any draw.
 *
 * Those that keep a memo also have `history`, the loss of all reports that are made from it;
 * `drawMemo`, which makes it, and `again`, which makes a report from it alone.
 */
export interface Family<M = any, A = any> {
  check(mechanism: M, path: string): void;
  loss(mechanism: M): Loss;
  randomise(mechanism: M, answer: A, coins: Coins): number[];
  history?(mechanism: M): Loss;
  drawMemo?(mechanism: M, answer: A, coins: Coins): number[];
  again?(mechanism: M, memo: readonly number[], coins: Coins): number[];
}

/** Modules that are fetched when first needed; their default exports hold things by name. */
export type Sources<T> = Record<string, () => Promise<{ default: Record<string, T> }>>;

export interface Weights {
  own: number;
  other: number;
}

/**
 * Report `omega` of `k` choices; sets with the answer weigh `own`, others `other`.
 * Source: Ye and Barg 2018 (IEEE Trans. Inf. Theory 64:5662), scheme of section III.
 */
export interface SubsetSelection extends Weights {
  k: number;
  omega: number;
}

/** Report one of `m` outputs; the `w` of the window around the answer weigh more. */
export interface Window extends Weights {
  k: number;
  m: number;
  w: number;
}

/** Report output y with probability `weights[row][y]` over the row's sum. */
export interface Channel {
  k: number;
  weights: number[][];
}

/**
 * Report `size` of `k` options and `most` blanks; sets that meet the ticks weigh more.
 * Source: PrivSet, Wang et al. 2018 (INFOCOM).
 */
export interface SetResponse extends Weights {
  k: number;
  most: number;
  size: number;
}

/** Report `s` of `k` options, picked at random, each with its tick randomised (Warner 1965). */
export interface SampledTicks extends Weights {
  k: number;
  s: number;
}

/**
 * Report every option with probability `own/total` if it is ticked, else `other/total`.
 * Source: Wang et al. 2017 (USENIX Security), section 4.3.
 */
export interface Unary extends Weights {
  k: number;
  most: number;
  total: number;
}

/** Report the position plus whole-number noise: y with probability ~ e^(-|y|/scale). */
export interface Laplace {
  k: number;
  scale: string;
}

/** Laplace noise that stays among the positions. */
export interface BoundedLaplace extends Laplace {
  beyond: "clamp" | "resample";
}

/** Report `d` positions, each plus noise: y with probability ~ e^(-y^2 / (2 sigma2)). */
export interface Gaussian {
  k: number;
  d: number;
  sigma2: string;
  epsilon: string;
  delta: string;
}

/** Report `s` of several positions, picked at random, each by the mechanism of its part. */
export interface Vector {
  s: number;
  parts: Mechanism[];
}

/**
 * Randomise the answer once with the odds `own / other`, keep what came of it, and randomise that
 * afresh in each wave, so that one report by itself is one of `once`.
 */
export interface Memoised extends Weights {
  once: Mechanism;
}

// --- the definition ---------------------------------------------------------------------------

export interface Choice {
  name: string;
  label: string;
}

export interface Range {
  minimum: string;
  maximum: string;
  step: string;
  unit?: string;
}

export interface Question {
  name: string;
  type: string;
  label: string;
  hint?: string;
  claim: Claim;
  mechanism: Mechanism;
  choices?: Choice[];
  show_if?: { question: string; is: string[] };
}

export interface Choosing extends Question {
  choices: Choice[];
}

export interface SelectMultiple extends Choosing {
  most: number;
}

export interface Scale extends Choosing {
  aim: string;
  scores?: number[];
}

export interface NumberQuestion extends Question {
  range: Range;
  aim: string;
}

export interface VectorQuestion extends Question {
  parts: { name: string; label: string; range: Range }[];
}

export interface Point extends VectorQuestion {
  grid: number;
}

export interface Product extends Question {
  parts: { name: string; label: string; choices: Choice[] }[];
}

/**
 * What questions of one type do. `form` checks the keys; `fits`, called once the mechanism has
 * been checked, all else but the claim. `encode` turns what a respondent says into what the
 * mechanism takes; it throws BadAnswer, which never holds the answer.
 */
export interface Type<Q = any> {
  form: Check;
  mechanisms: string[];
  fits(question: Q, path: string): void;
  encode(question: Q, answer: unknown): Input;
}

export interface Definition {
  spec: 1;
  name: string;
  title: string;
  language: string;
  intro?: string;
  contact?: string;
  results: { minimum: number; while_open: boolean; to?: "analysts" };
  ask?: number;
  waves?: { panel: string; count?: number; recognised?: number };
  invited?: true;
  questions: Question[];
}

/** A respondent's answers by the name of the question. */
export type Answers = ReadonlyMap<string, unknown>;

/** What a device keeps for the waves of a panel, by the name of the question. */
export type Memos = ReadonlyMap<string, readonly number[]>;

/**
 * `text` is what to send, and to send again unchanged on every retry; `receipt` is its SHA-256,
 * for the respondent to keep. `memos` are what it was made from, to be kept for the next wave of
 * the panel and not to be sent.
 */
export interface Report {
  text: string;
  id: string;
  receipt: string;
  memos: Memos;
}

// --- the memory and the ledger ----------------------------------------------------------------

/** One charge; its fractions are texts. `author` is a public key, or empty. No answer is here. */
export interface Entry {
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
  ledger: readonly Entry[];
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

// --- the register -----------------------------------------------------------------------------

/** How far a register was seen: its entries and the hash of the last. */
export interface Seen {
  count: number;
  head: string;
}

/** What a device knows of servers, by origin: a part of its memory. */
export interface Known {
  authors: Readonly<Record<string, readonly string[]>>;
  registers: Readonly<Record<string, Seen>>;
}

/** Who asks, with the fingerprint of the author's key, and the register that was seen. */
export interface Contact extends Seen {
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

// --- the form ---------------------------------------------------------------------------------

/** What a form says, with a text for the check page; or what is missing in it, as a sentence, and a
 * heading for it where the question's own does not fit. */
export interface Answer {
  answer?: string | string[] | Map<string, string>;
  text?: string;
  missing?: string;
  heading?: string;
}

/** The questions that one person is asked. `nearest` is the next step on the way to a step that
 * this person does not see, coming from another. */
export interface Path {
  drawn: readonly Question[] | undefined;
  shown(): readonly HTMLFormElement[];
  nearest(number: number, current: number): number;
}

// --- without a network --------------------------------------------------------------------------

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
