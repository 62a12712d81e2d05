// Edits on their way to the server, in their order. Without a connection they wait here and in the
// tab's own storage, and no answer of anybody is in them.

import { name, post } from "./exchange.js";

/** @typedef {{ do: string, question?: string | null, key?: string, value?: unknown, after?: string | null,
 *   keys?: Record<string, unknown>, operations?: unknown[] }} Operation */
/** @typedef {{ edit: string, operation: Operation, revision?: number }} Waiting */
/** @typedef {{ revision: number, undo: Operation | null, document: any }} Edited */

const AGAIN = 3000; // milliseconds

/** The edits of one draft that are not acknowledged yet. */
export class Unsaved {
  /**
   * @param {string} draft
   * @param {number} revision
   * @param {{ state: (words: string) => void, edited: (answer: Edited, operation: Operation) => void,
   *   clashed: (theirs: unknown, operation: Operation, revision: number) => void,
   *   refused: (answer: import("./exchange.js").Answer) => void }} page what it tells the page
   */
  constructor(draft, revision, page) {
    this.draft = draft;
    this.revision = revision;
    this.page = page;
    this.kept = `deniably-unsaved-${draft}`;
    /** @type {Waiting[]} */
    this.waiting = JSON.parse(sessionStorage.getItem(this.kept) ?? "[]");
    this.busy = false;
    addEventListener("online", () => void this.send());
    if (this.waiting.length) void this.send();
  }

  /**
   * Takes an edit that was made just now. It replaces the last waiting edit of the same key,
   * unless that is on its way already. `revision` is that which its author saw, where it is
   * another one than the last.
   * @param {Operation} operation
   * @param {number} [revision]
   */
  add(operation, revision) {
    const last = this.waiting.at(-1);
    const same = ["do", "question", "key"].every((key) => get(last?.operation, key) === get(operation, key));
    if (last && operation.do === "put" && same && !(this.busy && this.waiting.length === 1)) {
      this.waiting.pop();
    }
    this.waiting.push({ edit: name(), operation, ...(revision && { revision }) });
    this.keep();
    void this.send();
  }

  /** Writes what waits into the tab's own storage. */
  keep() {
    if (this.waiting.length) sessionStorage.setItem(this.kept, JSON.stringify(this.waiting));
    else sessionStorage.removeItem(this.kept);
  }

  /**
   * Sends what waits, one after the other. An edit leaves the queue once the server has
   * taken or refused it.
   */
  async send() {
    if (this.busy) return;
    this.busy = true;
    for (let first = this.waiting[0]; first; first = this.waiting[0]) {
      this.page.state("Saving …");
      let answer;
      try {
        answer = await post(`/studio/drafts/${this.draft}/edits`, { revision: this.revision, ...first });
      } catch {
        this.page.state("Not saved yet: no connection. It is kept in this tab.");
        break;
      }
      if (answer.status >= 500 || answer.status === 429) {
        this.page.state("The server cannot save now. Keep this tab open.");
        break;
      }
      if (answer.status === 401) {
        this.page.state("Not saved yet. It is kept in this tab.");
        this.page.refused(answer);
        break;
      }
      this.waiting.shift();
      this.keep();
      if (answer.status === 200) {
        this.revision = answer.value.revision;
        this.page.edited(answer.value, first.operation);
      } else if (answer.status === 409) {
        this.page.clashed(answer.value.theirs, first.operation, answer.value.revision);
      }
      else this.page.refused(answer);
    }
    this.busy = false;
    if (!this.waiting.length) this.page.state("Saved");
    else setTimeout(() => void this.send(), AGAIN);
  }
}

/**
 * @param {Operation | undefined} operation
 * @param {string} key
 */
const get = (operation, key) => /** @type {any} */ (operation)?.[key];
