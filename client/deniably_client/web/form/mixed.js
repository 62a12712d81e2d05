// What the form of a survey with a mixer does differently: in the bundle page-mixed.js, exports of this
// module stand in for names that form.js and sending.js import (static_files.py). It asks the mixer before
// the first question, seals what the device made, and sends it to the mixer. From then on nothing is asked
// of the survey's server, which does not hear when somebody sends.

import { Localised, Refused } from "../core/errors.js";
import { LIMITS, TOGETHER, counted, firstToLeave, share, totalLoss } from "../device/ledger.js";
import { today } from "../device/memory.js";
import { Unreachable } from "../device/send.js";
import { keeps, read, update } from "../device/storage.js";
import {
  answerThroughMixer, changeCode, markSealedSent, planThroughMixer,
} from "../device/through_mixer.js";
import { fetchStatement, sealForMixer, sealReports, sendSealed } from "../device/to_mixer.js";
import { readStatement } from "../trust/mixer_statement.js";
import { remember } from "../trust/register.js";
import { fingerprint } from "../trust/signing.js";
import { day, words } from "../wording/words.js";
import { all, byId, version } from "./elements.js";
import {
  askForCode, askForOther, code, forgetCode, keepStatement, storedStatement,
} from "./mixer_code.js";
import { localised, recall, reveal } from "./remembered.js";
import { state } from "./state.js";
import { go, showKind } from "./steps.js";

/** @import { Loss } from "../core/types.js" */
/** @import { Answers } from "../survey/types.js" */
/** @import { Statement } from "../trust/types.js" */
/** @import { LedgerEntry, Memory, OfMixer, Scope } from "../device/types.js" */
/** @import { Bytes } from "../trust/envelope.js" */
/** @import { About } from "./remembered.js" */

/** The sentence for a refusal of the mixer, by the type of its problem details. */
const SAID = new Map([
  ["/problems/not-found", () => words("sealed.unknown", by())],
  ["/problems/gone", () => words("sealed.gone", by())],
  ["/problems/nobody-invited", () => words("sealed.early")],
]);
/** The same of a code, of which another can be tried. */
const SAID_OF_CODE = new Map([
  ["/problems/uninvited", () => words("sealed.uninvited", by())],
  ["/problems/used", () => words("sealed.used")],
]);

const definition = () => /** @type {OfMixer} */ (state.definition);
const by = () => ({ by: definition().mixer.by });

// --- before the first question ------------------------------------------------------------------

/**
 * Shows the memory, as remembered.js does. Where this device has not answered yet, it then asks the
 * mixer: throws Localised where that is not reached, is another one, or takes no answers.
 * @param {About} about
 */
export async function remembered(about) {
  try {
    const keeping = await keeps();
    reveal("[data-transient]", !keeping);
    reveal("[data-stored]", keeping);
    const memory = await recall(about);
    const kept = memory.reports[version];
    tell(memory, about);
    reveal("[data-forget]", memory.ledger.length > 0);
    reveal("[data-first]", kept === undefined);
    reveal("[data-before]", kept !== undefined);
    const print = await fingerprint(definition().mixer.signing);
    for (const place of all("[data-mixer]", HTMLElement)) place.textContent = print;
    if (!kept) await meetMixer();
    // For the form an envelope is a text to send, as a report is.
    return { kept: kept && { text: kept.sealed, sent: kept.sent }, known: [], drawn: about.drawn };
  } catch (error) {
    throw localised(error);
  }
}

/** Reads the mixer's statement, and asks for an invitation where one is needed. */
async function meetMixer() {
  const { invitations, until } = await statement();
  if (until < today()) throw new Localised(words("sealed.gone", by()));
  await askForCode(invitations > 0, () => go(1));
  state.barred = () => invitations > 0 && code() === "";
}

/**
 * Returns the mixer's statement as it is now or, without a network, as it was when this page was opened
 * before. Throws Localised.
 * @returns {Promise<Statement>}
 */
async function statement() {
  const { mixer } = definition();
  try {
    const text = await fetchStatement(definition(), version);
    const read = await readStatement(text, mixer, version);
    await keepStatement(text);
    return read;
  } catch (error) {
    const said = error instanceof Refused && SAID.get(error.type);
    if (said) throw new Localised(said());
    if (!(error instanceof Unreachable)) throw new Localised(words("sealed.other", by()));
  }
  const before = await storedStatement();
  if (before === "") throw new Localised(words("sealed.unreached", by()));
  return readStatement(before, mixer, version);
}

/**
 * Returns the questions to ask again: none, because what was sealed stays as it is.
 * @type {typeof import("./remembered.js").changes}
 */
export const changes = async () => [];

/**
 * Shows which shares of the limits are spent, before and after: of those against servers alone, or of
 * those against servers and mixers together, whichever is larger.
 * @type {(memory: Memory, about: About) => void}
 */
function tell(memory, about) {
  const { author = "", limits = LIMITS } = about;
  const { ledger, since } = planThroughMixer(memory, { ...about, definition: definition() });
  const before = counted(memory.ledger, version, author, since);
  const after = counted(ledger, version, author, since);
  for (const scope of /** @type {Scope[]} */ (Object.keys(before))) {
    const cells = all(`[data-scope="${scope}"] :is(small,td)`, HTMLElement);
    const limit = `${Math.max(Number(limits[scope]), TOGETHER[scope])}`;
    const percent = (/** @type {readonly LedgerEntry[]} */ entries) => ({
      count: Math.max(
        share(totalLoss(entries), limits[scope]),
        share(totalLoss(entries, true), limit),
      ),
    });
    const leaving = scope === "survey" ? undefined : firstToLeave(before[scope]);
    const part = (/** @type {Loss} */ loss) => ({ count: share(loss, limits[scope]) });
    const texts = [
      leaving && words("script.until", { ...part(leaving.loss), day: day(leaving.day) }),
      ...[before, after].map((each) => words("script.percent", percent(each[scope]))),
    ];
    for (const [i, cell] of cells.entries()) cell.textContent = texts[i] ?? "";
  }
}

// --- sealing and sending --------------------------------------------------------------------------

/** What is sealed names its version, and a mixer takes no other: the server need not be asked. */
export const hasChanged = async () => false;

/** The sealed reports, for another envelope to the mixer. They are nowhere but in this page.
 * @type {Bytes[] | undefined} */
let inner;

/**
 * Randomises and seals the answers; returns the envelope to send, in hexadecimal. The charge, the
 * envelope, the author and the register are stored before this returns.
 * @type {(about: About, answers: Answers) => Promise<string>}
 */
export async function record(about, answers) {
  try {
    const answering = { ...about, definition: definition(), answers };
    const memory = await update((now) =>
      answerThroughMixer(remember(now, about.verified), answering, async (texts) => {
        inner = await sealReports(definition(), version, texts);
        return sealForMixer(definition(), version, inner, code());
      }),
    );
    await forgetCode();
    reveal("[data-forget]", await keeps());
    return memory.reports[version]?.sealed ?? "";
  } catch (error) {
    throw localised(error);
  }
}

/** The envelope that the mixer took. */
let taken = "";

/**
 * Sends the envelope that is kept to the mixer. Throws Localised where it refuses for a reason that
 * respondents meet; where that is the code, another one is asked for.
 * @type {typeof import("../device/send.js").send}
 */
export async function send(_, first, __, waiting) {
  const sealed = (await read()).reports[version]?.sealed ?? first;
  try {
    await sendSealed(definition(), version, sealed, waiting);
    taken = sealed;
    return "";
  } catch (error) {
    const type = error instanceof Refused ? error.type : "";
    const said = SAID.get(type);
    if (said) throw new Localised(said());
    const ofCode = SAID_OF_CODE.get(type);
    if (!ofCode) throw error;
    throw new Localised(inner ? askAgain(inner, ofCode()) : `${ofCode()} ${words("sealed.stuck")}`);
  }
}

/** Asks for another code, seals with it, and sends; returns `why`.
 * @type {(inner: readonly Bytes[], why: string) => string} */
function askAgain(inner, why) {
  askForOther(async (other) => {
    const envelopes = await sealForMixer(definition(), version, inner, other);
    await update((memory) => changeCode(memory, version, envelopes));
    showKind("sending");
    byId("again").click(); // sends what is kept
  });
  return why;
}

/**
 * Notes in the memory that the mixer has the envelope.
 * @type {typeof import("../device/storage.js").recordSent}
 */
export async function recordSent() {
  // If storing fails, the same bytes are sent again and count once.
  await update((memory) => markSealedSent(memory, version, taken)).catch(() => {});
}

/**
 * Returns what the receipt shows of what was sent: the SHA-256 of each inner envelope.
 * @type {(sealed: string) => Promise<string>}
 */
export const receiptOf = async () => (await read()).reports[version]?.inner?.join(" ") ?? "";
