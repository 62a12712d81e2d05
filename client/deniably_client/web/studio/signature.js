// The author's signature in this browser (SPEC section 9): a key that scripts can use but not read. It is
// readable once, while its copy is written, and kept only afterwards.

import { digest, hexadecimal } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { bytes, checkSignature, fingerprint, signedBy } from "../trust/signing.js";
import { PLAIN, decoded, drawWords, openCopy, readCopy, readWords, writeCopy } from "./recovery.js";

/** @import { Made, Own, Shown, ShownMixer, Signed } from "./types.js" */

const DATABASE = "deniably-signature";
const STORE = "signature";
const OWN = "own";
const PEM = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/;
const NONCE = /^[\w-]{16,128}$/;
const MEMBERS = "author,digest,signature,survey";
const OF_SIGN_IN = "author,nonce,origin,signature";

/** Whether this browser can sign: from Chrome 137, Safari 17 and Firefox 129 on. */
export async function canSign() {
  try {
    await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes the key by which a group signs, a copy of it and the six words that open the copy. Nothing
 * is stored: `keepOwn` does that once the copy is saved. Throws Refused for a name that no copy
 * can have.
 * @type {(group: string) => Promise<Made>}
 */
export async function makeSignature(group) {
  const made = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const { privateKey } = /** @type {CryptoKeyPair} */ (made);
  const encoded = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  // Some browsers write the public key behind the secret one, which stands at the same place.
  const secret = encoded.slice(PLAIN.length / 2, PLAIN.length / 2 + 32);
  encoded.fill(0);
  return withCopy(secret, group);
}

/**
 * Returns the author.key of a terminal with a copy and words, as `makeSignature` does. Throws
 * Refused for a text that is no such key.
 * @type {(text: string, group: string) => Promise<Made>}
 */
export async function bringKey(text, group) {
  const der = decoded(PEM.exec(text)?.[1] ?? "");
  if (!der.startsWith(PLAIN) || der.length !== PLAIN.length + 64) {
    throw new Refused("This is no Ed25519 key in PEM without a password.");
  }
  return withCopy(bytes(der.slice(PLAIN.length)), group);
}

/**
 * Opens a copy with its typed words. With `number`, only the copy of that key. Throws Refused.
 * @type {(text: string, typed: string, number?: string) => Promise<Own>}
 */
export async function openSignature(text, typed, number) {
  const copy = readCopy(text);
  if (number !== undefined && copy.number !== number) {
    throw new Refused(`This copy is of another group: ${copy.number.slice(0, 9)}.`);
  }
  const secret = await openCopy(copy, await readWords(typed));
  const own = await imported(secret, copy.group, copy.day);
  secret.fill(0);
  if (own.number !== copy.number) {
    throw new Refused(
      `This copy was changed: it names the number ${copy.number}, and its key has ${own.number}.`,
    );
  }
  return own;
}

/** @type {() => Promise<Own | undefined>} the signature that this browser keeps, if any */
export const readOwn = () => inStore("readonly", (store) => store.get(OWN));

/** @type {(own: Own) => Promise<void>} keeps the signature, in place of another */
export async function keepOwn(own) {
  await inStore("readwrite", (store) => store.put(own, OWN));
}

/** Removes the signature from this browser. The copy still opens. */
export async function forgetOwn() {
  await inStore("readwrite", (store) => store.delete(OWN));
}

/**
 * Signs the definition that the page shows; its digest is worked out here. Throws Refused, and signs
 * nothing, where the definition says something else than the page shows.
 * @type {(own: Own, definition: any, shown: Shown) => Promise<Signed & {digest: string}>}
 */
export async function signSurvey(own, definition, shown) {
  checkShown(definition, shown);
  const version = await digest(definition);
  return { digest: version, ...(await signed(own, `deniably survey 1\n${version}\n`)) };
}

/**
 * Throws Refused where a definition says something else than the page shows.
 * @type {(definition: any, shown: Shown) => void}
 */
export function checkShown(definition, shown) {
  for (const [what, here, there] of compared(definition ?? {}, shown)) {
    if (here !== there) {
      throw new Refused(
        `The server sent another survey than this page shows. ${what} here is ` +
          `“${here}”, and there “${there}”. Nothing was signed.`,
      );
    }
  }
}

/**
 * What is compared, as the page has it and as the definition has it.
 * @param {any} definition
 * @param {Shown} shown
 * @returns {Generator<[string, unknown, unknown]>}
 */
function* compared(definition, shown) {
  const { name, title, results = {} } = definition;
  yield ["The address", shown.name, name];
  yield ["The title", shown.title, title];
  yield ["The introduction", ...introductions(shown, definition.intro)];
  yield ["Who asks", words(shown.contact), words(definition.contact)];
  const sent = sentQuestions(definition, shown);
  yield ["The number of questions", shown.questions.length, sent.length];
  for (const [index, { label, hint, answers, protection, coins }] of shown.questions.entries()) {
    const its = shownQuestion(sent[index] ?? {}, coins);
    yield [`The text of question ${index + 1}`, label, its.label];
    yield [`The explanation of question ${index + 1}`, hint, its.hint];
    for (const [at, answer] of answers.entries()) {
      yield [`Answer ${at + 1} of question ${index + 1}`, answer, its.answers[at]];
    }
    if (protection) yield [`The protection of question ${index + 1}`, protection, its.protection];
  }
  if (shown.budget !== null) {
    const spent = spentTogether(definition);
    const within = spent <= shown.budget * (1 + ROUNDED);
    yield ["The protection of all questions", rightOf(shown.budget), rightOf(within ? shown.budget : spent)];
  }
  yield* comparedMixers(shown.mixer, definition.mixer ? publishedMixer(definition) : null);
  yield ["The least number of reports", shown.minimum, results.minimum];
  yield ["Who sees results", audience(shown.analysts), audience(results.to === "analysts")];
}

/** What is compared of a mixer, by what the page calls it. Who swaps the mixer, or is both parties, is found out. */
const OF_MIXERS = /** @type {[keyof ShownMixer, string][]} */ ([
  ["by", "The mixer"],
  ["address", "The mixer’s address"],
  ["signing", "The key of the mixer"],
  ["key", "The mixer’s key of envelopes"],
  ["open", "This server’s key of envelopes"],
  ["alone", "What this server alone can learn"],
  ["both", "What the mixer and this server can learn together"],
  ["fails", "The number of people of whom one may be protected less"],
]);

/**
 * @param {ShownMixer | null} here
 * @param {ShownMixer | null} there
 * @returns {Generator<[string, unknown, unknown]>}
 */
function* comparedMixers(here, there) {
  for (const [member, what] of OF_MIXERS) yield [what, here?.[member] ?? "none", there?.[member] ?? "none"];
}

/** By how much, relatively, a sum may exceed the budget through rounding. */
const ROUNDED = 1e-9;

/** @type {(text: unknown) => string} a text whose lines may be broken elsewhere */
const words = (text) => String(text ?? "").trim().replace(/\s+/g, " ");

/** The longest heading of a fact, such as "Responsible for the data: ", in any language. */
const HEADING = 45;

/** The mark that keeps the direction of a text in a text from right to left. */
const MARK = "\u200f?";

/**
 * The introduction as the page has it and as the definition has it. There, the facts about the study that the
 * author wrote follow it, each behind a heading in the survey's language.
 * @type {(shown: Shown, published: unknown) => [string, string]}
 */
function introductions({ intro, facts }, published) {
  const [here, there] = [words([intro, ...facts].join(" ")), words(published)];
  const literally = (/** @type {unknown} */ text) => words(text).replace(/[^\p{L}\p{N} ]/gu, "\\$&");
  const inOrder = facts.map((fact) => ` ?[^.!?:：。]{1,${HEADING}}[:：] ?${MARK}${literally(fact)}${MARK}`).join("");
  const same = facts.length > 0 && new RegExp(`^${literally(intro)}${inOrder}$`).test(there);
  return same ? [there, there] : [here, there];
}

/** @type {(list: unknown) => any[]} */
const listed = (list) => (Array.isArray(list) ? list : []);

/**
 * The questions of a definition. With one protection for all, questions may be sent as one, of which they
 * are parts.
 * @param {any} definition
 * @param {Shown} shown
 */
const sentQuestions = ({ questions }, shown) =>
  listed(questions).flatMap((question) =>
    Array.isArray(question?.parts) && !shown.questions.some(({ label }) => label === question.label)
      ? question.parts
      : [question],
  );

/** @type {(stated: unknown) => number} a number, or a fraction such as 13/3; NaN where it is none */
function numberOf(stated) {
  const [over, under = "1"] = String(stated).split("/");
  return Number(over) / Number(under);
}

/**
 * The epsilon that a claim or a draft's question states; NaN where it states none as a number.
 * @type {(stated: any) => number}
 */
const epsilonOf = ({ epsilon, odds }) => (epsilon === undefined ? Math.log(numberOf(odds)) : numberOf(epsilon));

/** The odds of a question that states no protection in a survey with a mixer. */
const LOCAL = { odds: 8 };
/** The delta of a mixer that states none. */
const DELTA = 0.000001;

/**
 * What is shown of a mixer: `named` is what names it, `claim` states what the server alone can learn, and
 * `local` what each answer gives away to both.
 * @type {(named: any, open: unknown, claim: any, local: number[]) => ShownMixer}
 */
const shownMixer = ({ by, address, key, signing }, open, claim, local) => ({
  by,
  address,
  key,
  signing,
  open: String(open),
  alone: rightOf(epsilonOf(claim)),
  both: rightOf(Math.max(...local)),
  fails: Math.round(1 / numberOf(claim.delta ?? DELTA)).toLocaleString("en"),
});

/** @type {(definition: any) => ShownMixer} */
const publishedMixer = ({ mixer, questions }) =>
  shownMixer(mixer, mixer.open, mixer.claim ?? {}, listed(questions).map(({ claim }) => epsilonOf(claim ?? {})));

/** @type {(mixer: any, questions: any[]) => ShownMixer} the mixer of a draft, as its author wrote it */
const draftedMixer = (mixer, questions) =>
  shownMixer(mixer.offer, mixer.open, mixer, questions.map((each) => localOf(each)));

/** @type {(question: any) => number} the epsilon of a draft's question with a mixer */
const localOf = ({ odds, epsilon, coins }) =>
  coins ? NaN : epsilonOf(odds === undefined && epsilon === undefined ? LOCAL : { odds, epsilon });

/** @type {(epsilon: number) => string} how often a guess between two answers is right */
const rightOf = (epsilon) =>
  Number.isNaN(epsilon) ? "" : `guessed right ${(100 / (1 + Math.exp(-epsilon))).toFixed(1)} of 100 times`;

/**
 * The two coins of a published question: how often the first lets the truth pass, and how often the second says
 * the first answer. With a fair second coin, the odds are 1 + k truth / (1 - truth).
 * @type {(question: any) => { truth: number, yes: number }}
 */
function coinsOf({ claim, mechanism }) {
  if (mechanism?.weights) {
    const [[yes = 0, no = 0] = [], [wrong = 0] = []] = mechanism.weights;
    const truth = (yes - wrong) / (yes + no);
    return { truth, yes: wrong / (yes + no) / (1 - truth) };
  }
  const more = numberOf(claim?.odds) - 1;
  return { truth: more / (more + mechanism?.k), yes: FAIR };
}

const FAIR = 0.5;

/** @type {(coins: { truth: unknown, yes?: unknown }) => string} what two coins do, as a page says it */
function throws({ truth, yes = FAIR }) {
  const [passes, says] = [truth, yes].map((each) => (100 * numberOf(each)).toFixed(1));
  const second = Number(says) === 100 * FAIR ? "else any answer" : `else the first answer ${says} of 100 times`;
  return `coins that let the truth pass ${passes} of 100 times, ${second}`;
}

/** @type {(definition: any) => number} the epsilon that one device spends at most: of the dearest that it is asked */
function spentTogether({ questions, ask }) {
  const each = listed(questions).map(({ claim }) => epsilonOf(claim ?? {}));
  return each
    .sort((a, b) => b - a)
    .slice(0, ask ?? each.length)
    .reduce((sum, epsilon) => sum + epsilon, 0);
}

const audience = (/** @type {boolean} */ analysts) => (analysts ? "people with a code" : "everybody");

/**
 * What a page shows of a question, in a draft or a definition. The choices that an author wrote come
 * first in both. A definition states no coins; with `asCoins` its protection is said in them. A draft's
 * question that states no protection has the `usual` one, if there is one.
 * @type {(question: any, asCoins?: boolean, usual?: { odds?: number }) => import("./types.js").ShownQuestion}
 */
function shownQuestion(question, asCoins = false, usual = {}) {
  const { label, hint, choices, parts, claim, odds, epsilon, coins } = question;
  const own = odds === undefined && epsilon === undefined ? usual : { odds, epsilon };
  const labels = (/** @type {any} */ list) => listed(list).map((one) => String(one?.label ?? one));
  const ofParts = listed(parts).flatMap((part) => [...labels([part]), ...labels(part?.choices)]);
  return {
    label: String(label ?? ""),
    hint: words(hint),
    answers: [...labels(choices), ...ofParts],
    protection:
      coins || asCoins ? throws(coins ?? coinsOf(question)) : rightOf(epsilonOf(claim ?? own)),
    coins: Boolean(coins) || asCoins,
  };
}

/** The facts about the study, in the order in which a survey has them. */
const FACTS = ["controller", "legal_basis", "retention", "consent"];

/**
 * What is compared of a draft, as its author wrote it.
 * @type {(draft: any) => Pick<Shown, "title" | "intro" | "facts" | "contact" | "budget" | "mixer" | "questions">}
 */
export const shownDraft = ({ title, intro, contact, budget, mixer, questions, ...rest }) => ({
  title,
  intro,
  facts: FACTS.map((key) => rest[key]).filter(Boolean),
  contact,
  budget: budget ? Number(budget.epsilon) : null,
  mixer: mixer ? draftedMixer(mixer, questions) : null,
  questions: questions.map((/** @type {any} */ each) => shownQuestion(each, false, mixer ? LOCAL : {})),
});

/**
 * Returns the digest that is signed to close a survey (SPEC 10); it is worked out from the
 * definition.
 * @type {(definition: any) => Promise<string>}
 */
const closing = async (definition) => digest({ close: await digest(definition) });

/** @type {(own: Own, definition: any) => Promise<Signed>} signs that this very survey is closed */
export const signClosing = async (own, definition) =>
  signed(own, `deniably survey 1\n${await closing(definition)}\n`);

/**
 * Signs in at the server of this page, which sent the nonce.
 * @type {(own: Own, nonce: string) => Promise<Signed>}
 */
export async function signIn(own, nonce) {
  if (!NONCE.test(nonce)) throw new Refused("The server sent no nonce.");
  return signed(own, `deniably sign-in 1\n${location.origin}\n${nonce}\n`);
}

/**
 * The signature in a file that `deniably sign` wrote. Throws Refused unless it is valid and of this very
 * definition.
 * @type {(text: string, definition: any) => Promise<Signed>}
 */
export async function readSignature(text, definition) {
  return readSurveyFile(text, definition.name, await digest(definition));
}

/** @type {(text: string, definition: any) => Promise<Signed>} as `readSignature`, of the survey's closing */
export async function readClosing(text, definition) {
  return readSurveyFile(text, definition.name, await closing(definition));
}

/** @type {(text: string, name: string, version: string) => Promise<Signed>} */
async function readSurveyFile(text, name, version) {
  const { survey, author, signature, digest: found } = members(text, MEMBERS);
  if (survey !== name) throw new Refused(`This is the signature of ${survey}, and not of ${name}.`);
  if (found !== version) {
    throw new Refused(`This is the signature of another version of ${survey}. Sign this version, too.`);
  }
  await checkSignature(version, author ?? "", signature ?? "");
  return { author: author ?? "", signature: signature ?? "" };
}

/**
 * The signature in a file that `deniably sign` wrote for signing in here, with the nonce that it is of.
 * Throws Refused unless it is valid, and for this server.
 * @type {(text: string) => Promise<Signed & { nonce: string }>}
 */
export async function readSignIn(text) {
  const { origin, nonce = "", author = "", signature = "" } = members(text, OF_SIGN_IN);
  if (origin !== location.origin) {
    throw new Refused(`This signs in to ${origin}, and not to ${location.origin}.`);
  }
  const message = `deniably sign-in 1\n${origin}\n${nonce}\n`;
  const formed = /^[0-9a-f]{64}$/.test(author) && /^[0-9a-f]{128}$/.test(signature);
  if (!formed || !(await signedBy(author, signature, message))) {
    throw new Refused("The signature in this file is not right. Sign once more.");
  }
  return { nonce, author, signature };
}

/**
 * Returns the members of a file that `deniably sign` wrote. Throws Refused unless they are the
 * `wanted` ones (names in order, with commas) and all texts.
 * @param {string} text
 * @param {string} wanted
 * @returns {Record<string, string>}
 */
function members(text, wanted) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    found = undefined;
  }
  const texts = Object.values(found ?? {}).every((one) => typeof one === "string");
  if (!texts || Object.keys(found ?? {}).sort().join() !== wanted) {
    throw new Refused("This is no file that deniably sign wrote for this.");
  }
  return found;
}

/** @type {(secret: Uint8Array<ArrayBuffer>, group: string) => Promise<Made>} */
async function withCopy(secret, group) {
  const own = await imported(secret, group, new Date().toISOString().slice(0, 10));
  const words = await drawWords();
  const copy = await writeCopy(secret, own, words);
  secret.fill(0);
  return { own, copy, words };
}

/**
 * The key that cannot be exported. Only an exportable one shows its public half.
 * @type {(secret: Uint8Array<ArrayBuffer>, group: string, day: string) => Promise<Own>}
 */
async function imported(secret, group, day) {
  const encoded = new Uint8Array([...bytes(PLAIN), ...secret]);
  const readable = await crypto.subtle.importKey("pkcs8", encoded, "Ed25519", true, ["sign"]);
  const { x = "" } = await crypto.subtle.exportKey("jwk", readable);
  const key = await crypto.subtle.importKey("pkcs8", encoded, "Ed25519", false, ["sign"]);
  encoded.fill(0);
  const author = decoded(x.replaceAll("-", "+").replaceAll("_", "/"));
  return { key, author, number: await fingerprint(author), group, day };
}

/** @type {(own: Own, text: string) => Promise<Signed>} signs a text */
async function signed({ key, author }, text) {
  const made = await crypto.subtle.sign("Ed25519", key, new TextEncoder().encode(text));
  return { author, signature: hexadecimal(new Uint8Array(made)) };
}

/**
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} work
 */
async function inStore(mode, work) {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  const database = await done(request);
  try {
    const change = database.transaction(STORE, mode, { durability: "strict" });
    const found = await done(work(change.objectStore(STORE)));
    if (mode === "readwrite") {
      await new Promise((resolve, reject) => {
        change.oncomplete = resolve;
        change.onabort = () => reject(change.error);
      });
    }
    return found;
  } finally {
    database.close();
  }
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
