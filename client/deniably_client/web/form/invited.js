// The start of a survey by invitation: the code, from the link or typed, is traded for a ticket before
// anything is asked (SPEC section 11). That of a link leaves the address before anything else is
// done, and is kept with the page's copy, encrypted, until it is traded or "Exit this page" is pressed.

import { Refused } from "../core/errors.js";
import { EMPTY } from "../device/memory.js";
import { Unreachable, send } from "../device/send.js";
import { read, update } from "../device/storage.js";
import { beginTrade, endTrade, finishTrade } from "../device/trade.js";
import { invitationTo, keep, kept } from "../device/vault.js";
import { readCode } from "../trust/codes.js";
import { words } from "../wording/words.js";
import { byId } from "./elements.js";

/** @import { Memory } from "../device/types.js" */

/** What is said where the server takes no such invitation, by the type of its problem. */
const SAID = new Map([
  ["/problems/uninvited", () => words("invited.unknown")],
  ["/problems/used", () => words("invited.used")],
]);

/** What the link brought, to this page or to one before it. */
let brought = "";

/**
 * Takes the invitation out of the address, which has it no more then: nor has the tab's history.
 * Where nothing can be kept, it stays in this page alone.
 */
export async function bring() {
  const { hash, pathname, search } = location;
  if (hash) history.replaceState(history.state, "", pathname + search);
  if (hash) brought = hash.slice(1);
  if (readCode(brought)) await put(brought);
  else brought ||= (await kept(invitationTo(pathname)).catch(() => undefined))?.body ?? "";
}

/** @param {string} text kept instead of what is; empty once the invitation is traded */
const put = (text) =>
  keep(invitationTo(location.pathname), { headers: [], body: text }).catch(() => {});

/**
 * Asks for an invitation, and goes `on` once it is traded. What it gives tells whether one still is
 * needed. `key` is that of the register; `refuse` is called where nothing goes on.
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
      await trade(code); // the one from before is of no use; this one may be
    }
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (done) look(await read()); // another tab may have let it be forgotten
    if (done) return on();
    const code = readCode(field.value);
    if (code === undefined) return tell(words("invited.wrong"));
    if (busy) return;
    busy = true;
    tell("");
    try {
      await trade(code);
      on();
    } catch (error) {
      const said = error instanceof Refused && SAID.get(error.type);
      if (said) tell(said());
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

/** @type {(wait: string) => string} that nothing is lost, and when to try again; `wait` in seconds */
const later = (wait) =>
  wait === ""
    ? words("invited.offline")
    : words("invited.wait", { count: Math.ceil((/^0*[1-9]\d{0,5}$/.test(wait) ? Number(wait) : 60) / 60) });

/** @type {(url: string, invitation: string, blinded: string) => Promise<string>} */
async function ask(url, invitation, blinded) {
  const answer = await send(url, JSON.stringify({ invitation, blinded }));
  if (answer === "") throw new Unreachable(); // it broke off
  try {
    return String(JSON.parse(answer).signature);
  } catch {
    throw new Refused("the server's answer is not JSON");
  }
}

/** @param {string} code */
const grouped = (code) => (readCode(code) ?? code).replace(/^(.{6})(.{6})(.{6})$/, "$1-$2-$3");
