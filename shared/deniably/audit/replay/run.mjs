// Runs the shipped modules as a device does, on the random bytes of the operating system, and tells
// what they kept and which bytes they were given. A line of JSON in, a line of JSON out.
//
// `study` names the folder of the modules, which is client/deniably_client/web or a copy.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/** The modules of a folder; those of the next study replace them. */
let modules = {};
const MODULES = [
  "core/canonical.js", "core/coins.js", "core/errors.js", "device/memory.js", "device/part.js",
  "device/through_mixer.js", "device/trade.js",
  "mechanisms/mechanism.js", "survey/conditions.js", "survey/survey.js", "trust/codes.js",
  "audit/enumeration.js",
];

async function load(folder) {
  const base = pathToFileURL(folder);
  const loaded = await Promise.all(MODULES.map((path) => import(`${base}/${path}`)));
  modules = Object.assign({}, ...loaded);
}

// The tap: every block that the generator gives, in order. `fed` are the bytes of a witness.
let blocks = [];
let fed = [];
const real = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => {
  real(array);
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  const next = fed[0] && Buffer.from(fed[0], "hex");
  if (next && next.length === bytes.length) {
    bytes.set(next);
    fed.shift();
  }
  blocks.push(Buffer.from(bytes).toString("hex"));
  return array;
};
// The same digests, without a thread for each.
const digests = crypto.subtle.digest.bind(crypto.subtle);
crypto.subtle.digest = async (how, data) =>
  how === "SHA-256" ? createHash("sha256").update(data).digest().buffer : digests(how, data);

const isRefusal = (error) =>
  error instanceof modules.Refused || error instanceof modules.BadAnswer;

/** What broke and where; never the text of an error, which may hold an answer. */
function place(error) {
  const where = String(error?.stack).match(/[\w-]+\.js:\d+/)?.[0] ?? "its code";
  return `${error?.name} in ${where.replace(":", ", line ")}`;
}

let surveys = [];
let limits = {};
let key = {};

/** RSA with the made-up key of the audit: the part of a server. */
function signed(blinded) {
  const modulus = BigInt(`0x${key.modulus}`);
  let [base, exponent, result] = [BigInt(`0x${blinded}`), BigInt(`0x${key.exponent}`), 1n];
  for (; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % modulus;
    base = (base * base) % modulus;
  }
  return result.toString(16).padStart(key.modulus.length, "0");
}

/** Envelopes for a mixer that stay open: nobody can make the ephemeral key of a sealed one again. */
async function leftOpen(texts) {
  const hashes = texts.map((text) => createHash("sha256").update(text).digest("hex"));
  return { outer: Buffer.from(texts.join("\n")).toString("hex"), inner: hashes };
}

const STEPS = {
  async answer(memory, step, { definition, digest: version }) {
    const { author, day } = step;
    const spending = { definition, version, author, day, limits: step.limits ?? limits };
    const answers = new Map(Object.entries(step.typed));
    const changed = step.changed ?? [];
    if (definition.mixer) {
      const answering = { ...spending, answers, changed };
      return { memory: await modules.answerThroughMixer(memory, answering, leftOpen) };
    }
    /** @type {readonly unknown[] | undefined} */
    let drawn;
    if (step.part) {
      const { ordered, part } = modules.partOf(memory, spending);
      drawn = part.length > 0 ? part : ordered;
    } else if (modules.conditional(definition)) drawn = modules.drawQuestions(definition);
    return {
      memory: await modules.answer(memory, {
        definition, version, drawn,
        answers,
        changed,
        author: step.author,
        day: step.day,
        limits: step.limits ?? limits,
        stratum: step.stratum ?? undefined,
      }),
    };
  },
  async order(memory, _, { definition, digest: version }) {
    return { memory: modules.withOrder(memory, { definition, version }) };
  },
  async sent(memory, step, { digest: version }) {
    const { sealed, text } = memory.reports[version] ?? {};
    if (sealed !== undefined) return { memory: modules.markSealedSent(memory, version, sealed) };
    return { memory: text === undefined ? memory : modules.markSent(memory, version, text) };
  },
  async trade(memory, step, { digest: version }) {
    const code = modules.readCode(step.code);
    const begun = await modules.beginTrade(memory, version, key.modulus, code);
    const trade = begun.trades?.[version];
    if (trade === undefined) return { memory: begun };
    const after = await modules.finishTrade(begun, version, key.modulus, trade, signed(trade.blinded));
    return { memory: after, trade };
  },
};

async function followed(scenario) {
  const found = [];
  let memory = scenario.document ? modules.readMemory(scenario.document) : modules.EMPTY;
  for (const [number, step] of scenario.steps.entries()) {
    const survey = surveys[step.survey];
    const seen = {};
    [blocks, fed] = [[], [...(scenario.fed?.[number] ?? [])]];
    try {
      const { memory: after, trade } = await STEPS[step.do](memory, step, survey);
      memory = after;
      seen.trade = trade;
    } catch (error) {
      if (isRefusal(error)) seen.refused = true;
      else seen.broken = place(error);
    }
    seen.blocks = blocks;
    const text = memory.reports[survey.digest]?.text;
    seen.digest = text === undefined ? undefined : await modules.sha256(text);
    seen.document = modules.written(memory);
    found.push(seen);
  }
  return found;
}

const TASKS = {
  /** The surveys of a study; each is verified once, which loads the modules for its questions. */
  async study(given) {
    ({ surveys, limits, key } = given);
    await load(given.folder);
    for (const { definition, digest } of surveys) await modules.verify(definition, digest);
    return { node: process.versions.node };
  },
  async replay({ scenarios }) {
    const found = [];
    for (const scenario of scenarios) found.push(await followed(scenario));
    return found;
  },
  /** The laws of one mechanism: of each input, {report: probability}. */
  async walk({ mechanism, inputs }) {
    await modules.loadMechanism(mechanism.name);
    return inputs.map((input) => [
      ...modules.distribution((coins) => modules.randomise(mechanism, input, coins)),
    ]);
  },
  /** What `below(n)` makes of given words. */
  async below({ draws }) {
    return draws.map(({ n, bytes }) => {
      const source = Uint8Array.from(Buffer.from(bytes, "hex"));
      let at = 0;
      const coins = new modules.Coins((count) => source.subarray(at, (at += count)));
      const value = coins.below(n);
      return { value, at };
    });
  },
  /** The draws of one object of coins, and the blocks that it fetched. */
  async stream({ bounds }) {
    [blocks, fed] = [[], []];
    const coins = new modules.Coins();
    return { values: bounds.map((n) => coins.below(n)), blocks };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...given } = JSON.parse(line);
  let answered;
  try {
    answered = { found: await TASKS[task](given), used: process.cpuUsage() };
  } catch (error) {
    answered = { broken: `${error?.name}: ${String(error?.message).slice(0, 300)}` };
  }
  process.stdout.write(`${JSON.stringify(answered)}\n`);
}
