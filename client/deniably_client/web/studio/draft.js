// A draft on a page: its edits on their way, what takes them back, and what happens where two people
// change the same thing. The page says what it shows of an edit.

import { Declined, explain, find, tell } from "./exchange.js";
import { Unsaved } from "./unsaved.js";

/** @import { Edited, Operation } from "./unsaved.js" */

const MOST = 50; // undos that a tab keeps

/** A draft on a page: its edits, what takes them back, and clashes with other people's edits. */
export class Draft {
  /**
   * @param {HTMLElement} place the element that holds the draft as its data
   * @param {{ edited: (operation: Operation) => void, settle: () => void, anew: boolean }} page `settle`
   *   saves what is still typed; `anew` is whether the page has to load again after an undo
   */
  constructor(place, page) {
    const { draft = "", revision, document: text = "{}" } = place.dataset;
    this.id = draft;
    this.page = page;
    this.newest = JSON.parse(text);
    /** Where to go once all is saved. */
    this.next = "";
    /** Where the tab keeps what takes its last edits back, also for the draft's other pages. */
    this.kept = `deniably-undo-${draft}`;
    /** @type {Operation[]} */
    this.undos = JSON.parse(sessionStorage.getItem(this.kept) ?? "[]");
    this.undoing = false;
    /** Whether the author was signed out: what waits is kept in the tab while they sign in. */
    this.leaving = false;
    /** @type {{ operation: Operation, revision: number } | null} */
    this.clash = null;
    this.unsaved = new Unsaved(draft, Number(revision), {
      state: (words) => {
        find("#state").textContent = words;
        if (words === "Saved" && this.next) go(this.next);
      },
      edited: (answer, operation) => this.edited(answer, operation),
      clashed: (theirs, operation, revision) => this.clashed(theirs, operation, revision),
      refused: (answer) => {
        explain(new Declined(answer));
        this.leaving ||= answer.status === 401;
      },
    });
    find("#undo").addEventListener("click", () => this.undo());
    addEventListener("keydown", (event) => {
      const typing = /** @type {HTMLElement} */ (event.target).closest?.("input, textarea, select");
      if (event.key === "z" && (event.ctrlKey || event.metaKey) && !typing) this.undo();
    });
    find("#take-mine").addEventListener("click", () => this.settle(true));
    find("#take-theirs").addEventListener("click", () => this.settle(false));
    addEventListener("beforeunload", (event) => {
      page.settle();
      if (this.unsaved.waiting.length && !this.next && !this.leaving) event.preventDefault();
    });
    this.keepUndos();
  }

  /**
   * Makes an edit, after what is still typed, and goes to an address once it is saved.
   * @param {Operation} operation
   */
  change(operation, address = "") {
    this.page.settle();
    this.next = address;
    this.unsaved.add(operation);
  }

  /** Takes the last edit of this tab back. */
  undo() {
    const operation = this.undos.pop();
    if (!operation) return;
    this.undoing = true;
    this.keepUndos();
    this.change(operation, this.page.anew ? location.href : "");
  }

  /**
   * @param {Edited} answer
   * @param {Operation} operation
   */
  edited(answer, operation) {
    tell("");
    this.newest = answer.document;
    if (answer.undo && !this.undoing) this.undos.push(answer.undo);
    this.undoing = false;
    this.keepUndos();
    this.page.edited(operation);
  }

  /** Writes the undos into the tab's own storage. */
  keepUndos() {
    sessionStorage.setItem(this.kept, JSON.stringify(this.undos.slice(-MOST)));
    /** @type {HTMLButtonElement} */ (find("#undo")).disabled = this.undos.length === 0;
  }

  /**
   * Asks the author to choose where somebody else changed the same thing meanwhile.
   * @param {unknown} theirs what it is in `revision`, the newest
   * @param {Operation} operation the author's own edit
   * @param {number} revision
   */
  clashed(theirs, operation, revision) {
    this.clash = { operation, revision };
    find("#theirs").textContent = shown(theirs);
    find("#mine").textContent = operation.do === "all" ? "several changes at once" : shown(operation.value ?? operation.keys);
    find("#clash").hidden = false;
    find("#take-mine").hidden = theirs === null; // the question is gone
    find("#take-theirs").focus();
  }

  /** @param {boolean} mine whether the author's own edit wins over the clash */
  settle(mine) {
    find("#clash").hidden = true;
    if (!this.clash || !mine) return location.reload();
    this.next = location.href;
    this.unsaved.add(this.clash.operation, this.clash.revision); // its author has seen theirs now
  }
}

/**
 * Goes to an address, or loads it again; a place within the page alone would do neither.
 * @param {string} address
 */
function go(address) {
  const [there, here] = [new URL(address, location.href), new URL(location.href)];
  there.hash = here.hash = "";
  if (there.href === here.href) location.reload();
  else location.assign(address);
}

/** @param {unknown} value */
const shown = (value) =>
  value === null || value === undefined ? "removed" : Array.isArray(value) ? value.map(label).join(", ") : String(label(value));

/**
 * A choice as its author reads it.
 * @param {any} choice
 */
export const label = (choice) => (choice && typeof choice === "object" ? (choice.label ?? JSON.stringify(choice)) : choice);
