// The form beside the editor, at the question that is written. It is the real form of the draft, and comes
// again a moment after each saved change. It takes no focus: see form/trial.js.

const REST = 600; // milliseconds

const frame = /** @type {HTMLIFrameElement} */ (document.querySelector("#preview"));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let resting;

/** Shows the form of the newest revision, once nothing more changes. On a phone nobody sees it. */
export function renew() {
  clearTimeout(resting);
  resting = setTimeout(() => {
    if (frame.checkVisibility()) frame.contentWindow?.location.replace(frame.src);
  }, REST);
}
