// Runs the cases of one vector file on the modules that the same server serves.
// A case fails where an expected value differs, or where an invalid one is not refused.

import { canonicalise, digest, parse } from "/canonical.js";
import { channel, worstOdds } from "/audit.js";
import { Coins } from "/coins.js";
import { BadAnswer, Refused } from "/errors.js";
import { checkMechanism, odds, randomise, supports } from "/mechanism.js";
import { checkClaim, verify } from "/survey.js";

/** Coins that read the bytes of a case. Running past the end is an error of another kind. */
class Tape {
  taken = 0;

  constructor(hex) {
    this.bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    this.coins = new Coins((count) => {
      if (this.taken + count > this.bytes.length) throw new Error("more bytes than specified");
      this.taken += count;
      return this.bytes.subarray(this.taken - count, this.taken);
    });
  }
}

/** A number where a double holds it exactly, else a BigInt: to be refused, never rounded. */
function number(text) {
  return BigInt(Number(text)) === BigInt(text) ? Number(text) : BigInt(text);
}

function parameters({ k, omega, own, other }) {
  return { k, omega, own: number(own), other: number(other) };
}

/** Each returns what is to be compared with the case; throwing is a refusal. */
const RUN = {
  coins: {
    below: ({ bound }, tape) => ({ value: String(tape.coins.below(number(bound))) }),
    choose: ({ weights }, tape) => ({ index: tape.coins.choose(weights.map(number)) }),
  },
  subset_selection: {
    report({ answer }, tape, group) {
      const mechanism = parameters(group.parameters);
      if (odds(mechanism) !== group.odds) throw new Error("other odds");
      const report = randomise(mechanism, answer, tape.coins);
      const supported = [...Array(mechanism.k).keys()].filter((i) => supports(report, i));
      if (supported.join() !== report.join()) throw new Error(`supports ${supported}`);
      return { report };
    },
    parameters: (given) => (checkMechanism(parameters(given)), {}),
  },
  channels: {
    channel(given) {
      const laws = channel(parameters(given));
      const worst = worstOdds(laws).odds;
      if (worst !== odds(parameters(given))) throw new Error(`worst odds ${worst}`);
      return { channel: laws.map((law) => Object.fromEntries([...law].sort())) };
    },
  },
  canonical: {
    async any({ json }) {
      const value = parse(json);
      return { canonical: canonicalise(value), digest: await digest(value) };
    },
  },
  claims: {
    any: ({ claim, own, other }) => (checkClaim(claim, number(own), number(other)), {}),
  },
  definitions: {
    async any({ text }) {
      const value = parse(text);
      const found = await digest(value);
      await verify(value, found);
      return { digest: found };
    },
  },
};

const REFUSALS = [Refused, BadAnswer, RangeError];

/** [number of cases that ran, sentences about those that failed] */
export async function consume(file) {
  let ran = 0;
  const failures = [];
  for (const group of file.groups) {
    const kinds = RUN[file.name];
    const run = kinds[group.type] ?? kinds.any;
    for (const test of group.tests) {
      const wrong = await failure(run, test, group);
      if (wrong) failures.push(`case ${test.id} (${test.comment}): ${wrong}`);
      ran += 1;
    }
  }
  return [ran, failures];
}

async function failure(run, test, group) {
  const tape = new Tape(test.bytes ?? "");
  let got;
  try {
    got = await run(test, tape, group);
  } catch (error) {
    if (test.result === "valid") return `refused: ${error}`;
    if (!REFUSALS.some((kind) => error instanceof kind)) return `not refused but broken: ${error}`;
  }
  if (got && test.result === "invalid") return "not refused";
  for (const [key, value] of Object.entries(got ?? {})) {
    const [found, expected] = [JSON.stringify(value), JSON.stringify(test[key])];
    if (found !== expected) return `${key} is ${found.slice(0, 80)}`;
  }
  if (test.consumed !== undefined && tape.taken !== test.consumed) {
    return `${tape.taken} bytes were taken, not ${test.consumed}`;
  }
}
