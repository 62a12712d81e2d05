// Runs the cases of one vector file on the modules that the same server serves.
// A case fails where an expected value differs, or where an invalid one is not refused.

import { channel, distribution, worstOdds } from "/audit/enumeration.js";
import { canonicalise, digest, hexadecimal, parse } from "/core/canonical.js";
import { Coins } from "/core/coins.js";
import { AuthorChanged, BadAnswer, Refused } from "/core/errors.js";
import { fraction, parts } from "/core/fraction.js";
import { twoWeights } from "/core/odds.js";
import { KEY, isDate } from "/core/validators.js";
import { charge, counted, totalLoss } from "/device/ledger.js";
import {
  chargeDay, charges, earlier, freshQuestions, readMemory, rounds, countedSince, written as document,
} from "/device/memory.js";
import { partOf } from "/device/part.js";
import { mixedCharges, questionsToSeal } from "/device/through_mixer.js";
import * as mechanisms from "/mechanisms/mechanism.js";
import keeping from "/mechanisms/memoised.js";
import * as noise from "/mechanisms/noise.js";
import { hiddenQuestions, withHidden } from "/survey/conditions.js";
import { checkClaim } from "/survey/claim.js";
import { encode } from "/survey/questions.js";
import { inReport, stratumIn } from "/survey/strata.js";
import { verify } from "/survey/survey.js";
import { total, totalHistory } from "/survey/total.js";
import { blind, finalise, verify as verifyBlind } from "/trust/blind_rsa.js";
import { readCode } from "/trust/codes.js";
import { decode, number as ofBytes, verify as verifyOurselves } from "/trust/ed25519.js";
import { sealInner, sealOuter, setUp } from "/trust/envelope.js";
import { checkRegister, find } from "/trust/past.js";
import { accept, remember, verifyListing } from "/trust/register.js";
import { bytes, checkSignature, fingerprint, verifySignature } from "/trust/signing.js";

const { checkMechanism, loadMechanism, loss, randomise, respond } = mechanisms;

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

/** Cases for those who read reports: a device makes them and reads none. */
const ELSEWHERE = Symbol("elsewhere");

/** A number where a double holds it exactly, else a BigInt: to be refused, never rounded. */
function number(text) {
  return BigInt(Number(text)) === BigInt(text) ? Number(text) : BigInt(text);
}

function subsetSelection({ k, omega, own, other }) {
  return { name: "subset_selection", k, omega, own: number(own), other: number(other) };
}

/** A loss as the vectors write it: its fractions as texts in lowest terms. */
function written({ odds, exponent, delta }) {
  return { odds: fraction(...odds), exponent: fraction(...exponent), delta: fraction(...delta) };
}

/** Fetches a mechanism's code and checks its parameters; gives them back. */
async function checked(mechanism) {
  await loadMechanism(mechanism.name);
  checkMechanism(mechanism);
  return mechanism;
}

function claim({ claim, own, other }) {
  checkClaim(claim, twoWeights({ own: number(own), other: number(other) }));
  return {};
}

async function canonical({ json }) {
  const value = parse(json);
  return { canonical: canonicalise(value), digest: await digest(value) };
}

async function definition({ text, free_text = false }) {
  const value = parse(text);
  const found = await digest(value);
  try {
    await verify(value, found);
  } catch (error) {
    if (/free text/.test(error.message) !== free_text) throw new Error(`for another reason: ${error}`);
    throw error;
  }
  return { digest: found };
}

/** The definition in a text, verified. */
async function survey(text) {
  const value = parse(text);
  return verify(value, await digest(value));
}

/** The strata of a report are those that a device writes which is told them. */
async function stratum({ text }, _, group) {
  const { survey: _digest, id: _id, values: _values, ...told } = parse(text);
  const written = inReport(await survey(group.definition), Object(told.strata)) ?? {};
  if (canonicalise(written) !== canonicalise(told)) throw new Refused("$", "");
  return {};
}

function memory({ text }) {
  if (document(readMemory(text)) !== text) throw new Error("written otherwise");
  return {};
}

/** What each sampler does with the arguments of its group. */
const SAMPLERS = {
  chance: ({ n, d }, coins) => noise.chance(Number(n), Number(d), coins),
  fall: ({ n, d }, coins) => noise.fall(BigInt(n), BigInt(d), coins),
  laplace: ({ t, s }, coins) => noise.laplace(Number(t), Number(s), coins),
  gaussian: ({ p, q }, coins) => noise.gaussian(Number(p), Number(q), coins),
};

/** Each returns what is to be compared with the case; throwing is a refusal. */
const RUN = {
  coins: {
    below: ({ bound }, tape) => ({ value: String(tape.coins.below(number(bound))) }),
    choose: ({ weights }, tape) => ({ index: tape.coins.choose(weights.map(number)) }),
    pick: ({ n, size }, tape) => ({ value: tape.coins.pick(n, size) }),
  },
  subset_selection: {
    report({ answer }, tape, group) {
      const mechanism = subsetSelection(group.parameters);
      const { odds } = written(loss(mechanism));
      if (odds !== group.odds) throw new Error(`other odds: ${odds}`);
      return { report: randomise(mechanism, answer, tape.coins) };
    },
    parameters: (given) => (checkMechanism(subsetSelection(given)), {}),
  },
  channels: {
    channel(given) {
      const laws = channel(subsetSelection(given));
      const worst = worstOdds(laws).odds;
      const { odds } = written(loss(subsetSelection(given)));
      if (worst !== odds) throw new Error(`worst odds ${worst}`);
      return { channel: laws.map((law) => Object.fromEntries(law)) };
    },
  },
  mechanisms: {
    async report({ answer }, tape, group) {
      const mechanism = await checked(group.mechanism);
      const found = canonicalise(written(loss(mechanism)));
      if (found !== canonicalise(group.loss)) throw new Error(`another loss: ${found}`);
      return { report: randomise(mechanism, answer, tape.coins) };
    },
    parameters: async ({ mechanism }) => (await checked(mechanism), {}),
    check: ELSEWHERE,
    async channel({ answer }, tape, group) {
      const [law] = channel(await checked(group.mechanism), [answer]);
      return { law: Object.fromEntries(law) };
    },
    noise: (_, tape, group) => ({ value: SAMPLERS[group.sampler](group, tape.coins) }),
  },
  canonical: { valid: canonical, invalid: canonical },
  claims: { epsilon: claim, odds: claim, malformed: claim },
  definitions: { valid: definition, invalid: definition },
  answers: {
    async answers({ answers }, tape, group) {
      const definition = await survey(group.definition);
      const given = new Map(Object.entries(answers));
      const all = withHidden(definition, given);
      const inputs = definition.questions.map((one) => [one.name, encode(one, all.get(one.name))]);
      return { hidden: hiddenQuestions(definition, given), inputs: Object.fromEntries(inputs) };
    },
  },
  signatures: {
    async ed25519({ key, signature, message }) {
      const parts = [bytes(key), bytes(signature), bytes(message)];
      const [native, own] = [await verifySignature(...parts), await verifyOurselves(...parts)];
      if (native !== own) throw new Error(`the browser says ${native}, our own code ${own}`);
      if (!own) throw new Refused("not the key's signature");
      return {};
    },
    point({ key }) {
      const [x, y] = decode(ofBytes(bytes(key))) ?? [];
      if (x === undefined) throw new Refused("no point");
      return { x: String(x), y: String(y) };
    },
    async survey({ digest: version, author, signature }) {
      await checkSignature(version, author, signature);
      return { fingerprint: await fingerprint(author) };
    },
  },
  registers: {
    async register({ document, seen, known, accepted, other_author = false, invitations }, tape, group) {
      const definition = await survey(group.definition);
      const before = { authors: { o: known }, registers: { o: seen } };
      return met(other_author, async () => {
        const { entries, hashes } = await checkRegister(parse(JSON.stringify(document)), seen);
        const entry = find(entries, definition.name);
        const found = await accept(before, "o", entry, definition, await digest(definition), accepted);
        if (found.invitations !== invitations) throw new Error("another key of its invitations");
        const { day } = entries.at(-1);
        return { author: found.author, head: hashes.at(-1), ...(isDate(day) && { day }) };
      });
    },
  },
  listings: {
    async listing({ document, seen, more, known, accepted, other_author = false, invitations }, tape, group) {
      const definition = await survey(group.definition);
      const before = { authors: { o: known }, registers: seen ? { o: seen } : {} };
      const version = await digest(definition);
      return met(other_author, async () => {
        let asked = "";
        const fetched = async (path) => {
          asked = path;
          return JSON.stringify(more[path]);
        };
        const text = JSON.stringify(document);
        const verified = await verifyListing(before, "o", definition, version, text, accepted, fetched);
        const after = remember(before, verified);
        if (canonicalise(after.registers.o) !== canonicalise(document.head)) throw new Error("not kept");
        if (!after.authors.o.includes(verified.author)) throw new Error("the author is not kept");
        const older = remember(after, { ...verified, author: "another", seen: { count: 0, head: "0".repeat(64) } });
        if (canonicalise(older.registers) !== canonicalise(after.registers)) throw new Error("cut");
        const renewed = remember(after, { ...verified, seen: { ...document.head, key: "another" } });
        if (renewed.registers.o.key !== "another") throw new Error("not renewed");
        if (verified.invitations !== invitations) throw new Error("another key of its invitations");
        return { author: verified.author, seal: verified.seal, asked };
      });
    },
  },
  strata: {
    valid_definition: definition,
    invalid_definition: definition,
    link: async ({ query }, _, group) => ({
      strata: stratumIn(await survey(group.definition), query),
    }),
    report: stratum,
    document: memory,
    async again({ document, query }, _, group) {
      const definition = await survey(group.definition);
      const before = earlier(readMemory(document), await digest(definition));
      return { strata: before?.strata ?? stratumIn(definition, query) };
    },
  },
  ledger: {
    document: memory,
    charge: (test, _, group) => charged(test, group),
    async part({ document: text, author, day, limits }, _, group) {
      const definition = await survey(group.definition);
      const version = await digest(definition);
      const { part } = partOf(readMemory(text), { definition, version, author, day, limits });
      return { part: part.map(({ name }) => name) };
    },
  },
  waves: {
    async report({ answer, kept }, tape, group) {
      const mechanism = await checked(group.mechanism);
      const found = [loss(mechanism), mechanisms.historyLoss(mechanism)].map(written);
      if (canonicalise(found) !== canonicalise([group.loss, group.history])) {
        throw new Error(`another loss: ${canonicalise(found)}`);
      }
      return respond(mechanism, answer, tape.coins, kept);
    },
    parameters: async ({ mechanism }) => (await checked(mechanism), {}),
    async channel({ answer }, tape, group) {
      const mechanism = await checked(group.mechanism);
      return { law: Object.fromEntries(await ofWave(mechanism, answer)) };
    },
    valid_definition: definition,
    invalid_definition: definition,
    async history({ definition }) {
      const found = await survey(definition);
      return { total: written(total(found)), history: written(totalHistory(found)) };
    },
  },
  blind_rsa: {
    async blind({ key, message, salt, inverse }) {
      const found = await blind(key, message, salt, inverse);
      if (found.inverse !== inverse) throw new Error("another inverse");
      return { blinded: found.blinded };
    },
    sign: ELSEWHERE,
    finalise: async ({ key, message, blind_signature, inverse, salt_length }) => ({
      signature: await finalise(key, message, blind_signature, inverse, salt_length),
    }),
    async verify({ key, message, signature, salt_length }) {
      await verifyBlind(key, message, signature, salt_length);
      return {};
    },
    async key({ key }) {
      KEY(key, "key");
      return {};
    },
  },
  codes: {
    code({ text }) {
      const code = readCode(text);
      if (code === undefined) throw new Refused("no code");
      return { code };
    },
  },
  envelopes: {
    async setup({ ephemeral, receiver, info, aad, plain }) {
      const { enc, key, nonce } = await setUp(receiver, bytes(info), await pairOf(ephemeral));
      const found = { enc: hexadecimal(enc), key: hexadecimal(key), nonce: hexadecimal(nonce) };
      if (aad === undefined) return found;
      const how = { name: "AES-GCM", iv: nonce, additionalData: bytes(aad) };
      const secret = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
      const sealed = await crypto.subtle.encrypt(how, secret, bytes(plain));
      return { ...found, sealed: hexadecimal(new Uint8Array(sealed)) };
    },
    async inner({ receiver, digest: version, text: { part, times }, length, ephemeral, sealed }) {
      const text = part.repeat(times);
      const found = await sealInner(receiver, version, text, length, await pairOf(ephemeral));
      if (found.length !== length + 81) throw new Error(`${found.length} bytes`);
      return { sealed: ends(found, sealed) };
    },
    open_inner: ELSEWHERE,
    async outer({ receiver, digest: version, code, inner, times, ephemeral, sealed }) {
      const all = Array(times).fill(inner.map(bytes)).flat();
      const found = await sealOuter(receiver, version, all, code, await pairOf(ephemeral));
      return { sealed: ends(found, sealed) };
    },
    open_outer: ELSEWHERE,
  },
  totals: {
    total: async ({ definition }) => written(total(await survey(definition))),
  },
};

/** A key pair of P-256 from its bytes, which a browser takes as a whole. */
async function pairOf({ secret, public: point }) {
  const how = { name: "ECDH", namedCurve: "P-256" };
  const [x, y, d] = [point.slice(2, 66), point.slice(66), secret].map(base64url);
  const jwk = { kty: "EC", crv: "P-256", x, y, d };
  const privateKey = await crypto.subtle.importKey("jwk", jwk, how, false, ["deriveBits"]);
  return { privateKey, publicKey: await crypto.subtle.importKey("raw", bytes(point), how, true, []) };
}

/** @param {string} hex */
const base64url = (hex) =>
  btoa(String.fromCharCode(...bytes(hex))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Of a long envelope the vectors have the ends: the ephemeral key and the tag. */
const ends = (found, expected) =>
  expected?.length === 2 * (65 + 16)
    ? hexadecimal(found.slice(0, 65)) + hexadecimal(found.slice(-16))
    : hexadecimal(found);

/** What a device finds; where `other`, only the author is another than it knows. */
async function met(other, find) {
  try {
    return await find();
  } catch (error) {
    if (error instanceof AuthorChanged !== other) throw new Error(`for another reason: ${error}`);
    throw error;
  }
}

/** What a charge comes to; a limit that refuses says which one it is. */
async function charged(test, group) {
  const { author, day, limits } = test;
  const definition = await survey(group.definition);
  const version = await digest(definition);
  const memory = readMemory(test.document);
  const drawn = definition.questions.filter(({ name }) => test.drawn.includes(name));
  const { changed } = test;
  const answering = { definition, version, drawn, changed, author };
  const fresh = await (definition.mixer ? questionsToSeal : freshQuestions)(memory, answering);
  const waves = await rounds(memory, definition, fresh, author);
  const of = definition.mixer ? mixedCharges : charges;
  const entries = of(definition, version, fresh, author, chargeDay(memory, author, day));
  const since = countedSince(memory, author, day);
  const after = charge(memory.ledger, entries, limits, since);
  return {
    fresh: fresh.map(({ name }) => name),
    entries,
    ...totals(false),
    ...(after.some(({ mixed }) => mixed) && { together: totals(true) }),
    ...waves,
  };

  function totals(together) {
    const of = (ledger) => losses(counted(ledger, version, author, since), together);
    return { before: of(memory.ledger), after: of(after) };
  }
}

/** @param {Record<string, any>} counted by scope */
const losses = (counted, together) =>
  Object.fromEntries(
    Object.entries(counted).map(([scope, one]) => [scope, written(totalLoss(one, together))]),
  );

/** The law of one wave: of the memos, and of what is sent of each. */
async function ofWave(mechanism, answer) {
  const law = new Map();
  const memos = distribution((coins) => keeping.memoised.drawMemo(mechanism, answer, coins));
  for (const [memo, share] of memos) {
    const kept = memo.split(",").map(Number);
    const sent = distribution((coins) => respond(mechanism, answer, coins, kept).report);
    for (const [report, chance] of sent) {
      const [[n, d], [m, e], [a, b]] = [share, chance, law.get(report) ?? "0"].map(parts);
      law.set(report, fraction(a * d * e + n * m * b, b * d * e));
    }
  }
  return law;
}

const REFUSALS = [Refused, BadAnswer, RangeError];

/** [number of cases, sentences about those that failed] */
export async function consume(file, most = Infinity) {
  let ran = 0;
  const failures = [];
  for (const group of file.groups) {
    const run = RUN[file.name][group.type];
    if (run === undefined) throw new Error(`an unknown type of group: ${group.type}`);
    for (const test of group.tests) {
      const wrong = run !== ELSEWHERE && (await failure(run, test, group));
      if (wrong) failures.push(`case ${test.id} (${test.comment}): ${wrong}`);
      ran += 1;
      if (failures.length === most) return [ran, failures];
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
    if (error.scope !== test.scope) return `the limit of ${error.scope} refuses`;
    if (error.until !== test.until) return `it holds until ${error.until}`;
  }
  if (got && test.result === "invalid") return "not refused";
  for (const [key, value] of Object.entries(got ?? {})) {
    const [found, expected] = [comparable(value), comparable(test[key])];
    if (found !== expected) return `${key} is ${found.slice(0, 80)}`;
  }
  if (test.consumed !== undefined && tape.taken !== test.consumed) {
    return `${tape.taken} bytes were taken, not ${test.consumed}`;
  }
}

/** A text that is the same for the same value, whatever the order of its keys. */
function comparable(value) {
  try {
    return canonicalise(value);
  } catch {
    return `no canonical form: ${JSON.stringify(value)}`;
  }
}
