// Copies a text of the page that a button names. Where the browser does not allow that, the text is
// shown and selected, so that the keys for copying do it.

const COPIED = "Copied.";
const SELECTED = "Your browser does not let a page copy. The text is selected: copy it with Ctrl+C or ⌘C.";

/**
 * Returns the text of an element, with an empty line between its paragraphs.
 * @param {HTMLElement} source
 */
function textOf(source) {
  const parts = [...source.children].filter((part) => part.matches("p, h3, li"));
  const texts = (parts.length ? parts : [source]).map((part) => part.textContent ?? "");
  return texts.map((text) => text.replace(/[ \n]+/g, " ").trim()).join("\n\n");
}

/** Copies by the older command, which needs no permission; returns whether it worked.
 * @param {string} text */
function copyAsCommand(text) {
  let done = false;
  const put = (/** @type {ClipboardEvent} */ event) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    done = true;
  };
  document.addEventListener("copy", put);
  document.execCommand("copy");
  document.removeEventListener("copy", put);
  return done;
}

/** @param {HTMLElement} source selected, and unfolded where it is folded away */
function select(source) {
  for (let at = source.closest("details"); at; at = at.parentElement?.closest("details") ?? null) {
    at.open = true;
  }
  source.tabIndex = -1;
  source.focus();
  getSelection()?.selectAllChildren(source);
}

/**
 * Copies the text of an element; returns whether that worked.
 * @param {HTMLElement} source
 */
async function copy(source) {
  const text = textOf(source);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyAsCommand(text);
  }
}

// Pages of results behind a token come into this document later, so it listens for all of them.
document.addEventListener("click", async ({ target }) => {
  const button = target instanceof Element ? target.closest("button[data-copies]") : null;
  if (!(button instanceof HTMLElement)) return;
  const source = document.getElementById(button.dataset.copies ?? "");
  const status = button.nextElementSibling;
  if (source === null || status === null) return;
  const done = await copy(source);
  status.textContent = done ? COPIED : SELECTED;
  if (!done) select(source);
});
