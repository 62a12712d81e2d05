// Starts a survey by invitation: trades the code, from the link or typed, for a ticket before the first
// question (SPEC section 11). A link's code is removed from the address first. It is stored encrypted
// beside the page's copy until it is traded or "Exit this page" is pressed.

import { Refused } from "../core/errors.js";
import { EMPTY } from "../device/memory.js";
import { Unreachable, send } from "../device/send.js";
import { read, update } from "../device/storage.js";
import { beginTrade, endTrade, finishTrade } from "../device/trade.js";
import { invitationTo, keep, kept } from "../device/kept_pages.js";
import { readCode } from "../trust/codes.js";
import { words } from "../wording/words.js";
import { byId } from "./elements.js";

/** @import { Memory } from "../device/types.js" */

/** The message for a refused invitation, by the type of the server's problem details. */
const SAID = new Map([
  ["/problems/uninvited", () => words("invited.unknown")],
  ["/problems/used", () => words("invited.used")],
]);

/** The code from the link, of this page or an earlier one. */
let brought = "";

/**
 * Moves the invitation from the address, and so from the tab's history, into encrypted storage. Where
 * nothing can be stored, it stays in this page alone.
 */
export async function bring() {
  const { hash, pathname, search } = location;
  if (hash) history.replaceState(history.state, "", pathname + search);
  if (hash) brought = hash.slice(1);
  if (readCode(brought)) await put(brought);
  else brought ||= (await kept(invitationTo(pathname)).catch(() => undefined))?.body ?? "";
}

/** @param {string} text replaces the stored code; an empty text once it is traded */
const put = (text) =>
  keep(invitationTo(location.pathname), { headers: [], body: text }).catch(() => {});

/**
 * Asks for an invitation, trades it for a ticket, and calls `on` once that is done. Returns a
 * function that says whether an invitation is still needed. `key` is the public key of the
 * survey's invitations, as the register has it; `refuse` shows an error that ends the form.
 * @param {string} api
 * @param {string} version
 * @param {string} key
 * @param {() => void} on
 * @param {(error: unknown) => void} refuse
 * @returns {Promise<() => boolean>}
 */
export async function enter(api, version, key, on, refuse) {
  const form = /** @type {HTMLFormElement} */ (byId("invitation"));
  const field = /** @type {HTMLInputElement} */ (byId("code"));
  const error = /** @type {HTMLElement} */ (form.querySelector(".error"));
  const link = /** @type {HTMLElement} */ (error.querySelector("a"));
  let busy = false;
  let done = false;

  /** @param {Memory} memory */
  const look = ({ tickets, trades, reports }) => {
    done = tickets?.[version] !== undefined || reports[version] !== undefined;
    for (const [id, hidden] of /** @type {const} */ ([["untraded", done], ["traded", !done]])) {
      byId(id).hidden = hidden;
    }
    field.value = done ? "" : grouped(field.value || (trades?.[version]?.code ?? ""));
    if (done && brought) void put((brought = ""));
  };

  /** @type {(sentence: string, heading?: string) => void} */
  const tell = (sentence, heading = words("invited.heading")) => {
    error.hidden = sentence === "";
    field.setAttribute("aria-invalid", String(!error.hidden && heading === words("invited.heading")));
    /** @type {HTMLElement} */ (error.querySelector("strong")).textContent = heading;
    link.textContent = sentence;
    if (sentence) error.focus();
  };

  const take = () => {
    if (brought === "" || done) return;
    field.value = grouped(brought);
    if (readCode(brought) === undefined) tell(words("invited.wrong"));
  };

  /** @type {(code: string) => Promise<void>} */
  const trade = async (code) => {
    const begun = await update((memory) => beginTrade(memory, version, key, code));
    const open = begun.trades?.[version];
    if (open === undefined) return look(begun); // another tab was quicker
    try {
      const signed = await ask(`${api}/tickets`, open.code, open.blinded);
      look(await update((memory) => finishTrade(memory, version, key, open, signed)));
    } catch (error) {
      if (!(error instanceof Refused && SAID.has(error.type))) throw error;
      field.value = code;
      look(await update((memory) => endTrade(memory, version, open)));
      if (readCode(brought) === open.code) void put((brought = ""));
      if (open.code === code) throw error;
      await trade(code); // the earlier code failed: try the new one
    }
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (done) look(await read()); // another tab may have forgotten it
    if (done) return on();
    const code = readCode(field.value);
    if (code === undefined) return tell(words("invited.wrong"));
    // A second press while the first trade is on its way.
    if (busy) return;
    busy = true;
    tell("");
    try {
      await trade(code);
      on();
    } catch (error) {
      const sentence = error instanceof Refused && SAID.get(error.type);
      if (sentence) tell(sentence());
      else if (error instanceof Unreachable) tell(later(error.message), words("script.waits"));
      else refuse(error);
    } finally {
      busy = false;
    }
  });
  field.addEventListener("input", () => tell(""));
  link.addEventListener("click", (event) => {
    event.preventDefault();
    field.focus();
  });
  addEventListener("hashchange", () => bring().then(take));
  for (const button of document.querySelectorAll("[data-forget] button")) {
    button.addEventListener("click", () => look(EMPTY));
  }

  look(await read());
  take();
  return () => !done;
}

/** @type {(wait: string) => string} says that nothing is lost and when to try again; `wait` in seconds */
const later = (wait) =>
  wait === ""
    ? words("invited.offline")
    : words("invited.wait", { count: Math.ceil((/^0*[1-9]\d{0,5}$/.test(wait) ? Number(wait) : 60) / 60) });

/**
 * The blind signature.
 * @type {(url: string, invitation: string, blinded: string) => Promise<string>}
 */
async function ask(url, invitation, blinded) {
  const answer = await send(url, JSON.stringify({ invitation, blinded }));
  if (answer === "") throw new Unreachable(); // the response broke off
  try {
    return String(JSON.parse(answer).signature);
  } catch {
    throw new Refused("the server's answer is not JSON");
  }
}

/**
 * @param {string} code in three groups of six characters; what is no code stays as it was typed.
 */
const grouped = (code) => (readCode(code) ?? code).replace(/^(.{6})(.{6})(.{6})$/, "$1-$2-$3");
