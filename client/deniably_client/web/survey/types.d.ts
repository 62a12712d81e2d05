// The types of the definition and what answers it, apart from what respondents download.

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
