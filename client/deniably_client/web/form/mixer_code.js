// The invitation of a mixer: from the link, or typed. It travels in the sealed envelope, and the survey's
// server never gets it. A link's code is removed from the address first. It is stored, encrypted, beside
// the page's copy until it is sealed or "Exit this page" is pressed, and so is the mixer's statement, with
// which the form opens without a network.

import { invitationTo, keep, kept } from "../device/kept_pages.js";
import { readCode } from "../trust/codes.js";
import { byId } from "./elements.js";

/** What is stored for the mixer: the code and the statement, both as texts. */
let stored = { code: "", statement: "" };

/** The code from the link of this page. */
let brought = takeFromAddress();

function takeFromAddress() {
  const { hash, pathname, search } = location;
  if (hash) history.replaceState(history.state, "", pathname + search);
  return hash.slice(1);
}

/** Reads what is stored, and stores the link's code; nothing is thrown where nothing can be stored. */
const begun = kept(invitationTo(location.pathname))
  .then((page) => (stored = page ? JSON.parse(page.body) : stored))
  .catch(() => {})
  .then(() => (readCode(brought) ? put({ code: brought }) : undefined));

/** @type {(change: Partial<typeof stored>) => Promise<void>} */
function put(change) {
  stored = { ...stored, ...change };
  const page = { headers: /** @type {[string, string][]} */ ([]), body: JSON.stringify(stored) };
  return keep(invitationTo(location.pathname), page).catch(() => {});
}

/** Returns the mixer's statement as it was when it was last verified; empty where there is none. */
export const storedStatement = () => begun.then(() => stored.statement);

/** @type {(statement: string) => Promise<void>} stores a verified statement for use without a network */
export const keepStatement = (statement) => begun.then(() => put({ statement }));

/** Forgets the code: it is in the envelope now. */
export const forgetCode = () => put({ code: "" });

/** Whether the mixer wants a code. */
let needed = false;

/** Returns the code to seal; empty where the mixer wants none, or none was typed yet. */
export const code = () => (needed && readCode(fieldOf(byId("invitation")).value)) || "";

/** @type {(form: HTMLElement) => HTMLInputElement} */
const fieldOf = (form) => /** @type {HTMLInputElement} */ (form.querySelector("input"));

/**
 * Asks for the invitation where `wanted`, and calls `on` when the form is begun with a valid one. Nobody
 * can tell before the answers are sent whether the mixer has such an invitation, or it was used: so a
 * code is looked at for errors of typing alone.
 * @type {(wanted: boolean, on: () => void) => Promise<void>}
 */
export async function askForCode(wanted, on) {
  await begun;
  needed = wanted;
  const form = byId("invitation");
  const field = fieldOf(form);
  byId("untraded").hidden = !wanted;
  field.value = grouped(brought || stored.code);
  const tell = ask(form, () => wanted, async (typed) => {
    if (wanted) await put({ code: typed });
    on();
  });
  addEventListener("hashchange", () => {
    brought = takeFromAddress();
    field.value = grouped(brought);
    tell(!readCode(brought));
  });
  if (wanted && brought) tell(!readCode(brought));
}

/** What is done with another code. @type {((code: string) => void) | undefined} */
let onOther;

/**
 * Asks for another code, where the mixer refused one, and calls `on` with it.
 * @type {(on: (code: string) => void) => void}
 */
export function askForOther(on) {
  const form = byId("other-invitation");
  form.hidden = false;
  if (!onOther) ask(form, () => true, async (typed) => onOther?.(typed));
  onOther = on;
}

/**
 * Calls `on` when the form is sent with a valid code, or with any text where none is `wanted`. Returns
 * what shows or hides the message about an error of typing.
 * @type {(form: HTMLElement, wanted: () => boolean, on: (code: string) => Promise<void>) =>
 *   (wrong: boolean) => void}
 */
function ask(form, wanted, on) {
  const field = fieldOf(form);
  const error = /** @type {HTMLElement} */ (form.querySelector(".error"));

  /** @param {boolean} wrong */
  const tell = (wrong) => {
    error.hidden = !wrong;
    field.setAttribute("aria-invalid", String(wrong));
    if (wrong) error.focus();
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = readCode(field.value);
    tell(wanted() && typed === undefined);
    if (error.hidden) await on(typed ?? "");
  });
  field.addEventListener("input", () => tell(false));
  error.querySelector("a")?.addEventListener("click", (event) => {
    event.preventDefault();
    field.focus();
  });
  return tell;
}

/** @param {string} text a code in three groups; what is no code stays as it was typed */
const grouped = (text) => (readCode(text) ?? text).replace(/^(.{6})(.{6})(.{6})$/, "$1-$2-$3");
