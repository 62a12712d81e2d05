// Types of the definition, answers and reports. Respondents do not download this file.

import type { Check } from "../core/types.js";
import type { Input, Mechanism } from "../mechanisms/types.js";

export interface Claim {
  epsilon?: string;
  odds?: string;
  delta?: string;
  history?: Claim;
}

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
  short?: string;
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
  outline?: string;
}

export interface Product extends Question {
  parts: { name: string; label: string; choices: Choice[] }[];
}

/**
 * The functions of questions of one type. `form` checks the keys. `fits` checks all else but the claim;
 * it runs after the mechanism's check. `encode` turns an answer into the mechanism's input; it throws
 * BadAnswer, which never holds the answer.
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
  results: { minimum: number; while_open: boolean; to?: "analysts"; reports?: "public" | "never" };
  ask?: number;
  waves?: { panel: string; count?: number; waves?: number; people?: number; recognised?: number };
  invited?: true;
  part?: true;
  strata?: Record<string, string[]>;
  mixer?: Mixer;
  questions: Question[];
}

/** The mixer of a survey. `key` and `open` are public keys of envelopes: the mixer's, the server's. */
export interface Mixer {
  address: string;
  by: string;
  key: string;
  signing: string;
  open: string;
  length: number;
  blanks: number;
  claim: { epsilon: string; delta: string };
}

/** A respondent's answers, by question name. */
export type Answers = ReadonlyMap<string, unknown>;

/** A value for each key of a survey's strata. */
export type Stratum = Record<string, string>;

/** The memos of a panel, by question name. */
export type Memos = ReadonlyMap<string, readonly number[]>;

/**
 * `text` is what to send, unchanged on every retry. `receipt` is its SHA-256, for the respondent.
 * `memos` are what it was made from: the device stores them for the panel's next wave and never sends
 * them.
 */
export interface Report {
  text: string;
  id: string;
  receipt: string;
  memos: Memos;
}
