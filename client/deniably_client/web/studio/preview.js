// The form in a frame, as people will get it. It is the real form of the draft, and comes again a moment
// after each saved change. It takes no focus: see form/trial.js.

import { PAUSES } from "./figures.js";

const REST = 600; // milliseconds

/**
 * Returns the function that shows the form of the newest revision, once nothing more changes. A form that
 * the server had no time to work out is asked for again.
 * @param {HTMLIFrameElement} frame
 */
export function preview(frame) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let resting;
  let late = 0;

  /** @param {number} milliseconds */
  function look(milliseconds) {
    clearTimeout(resting);
    resting = setTimeout(() => {
      // On a phone nobody sees it.
      if (frame.checkVisibility()) frame.contentWindow?.location.replace(frame.src);
    }, milliseconds);
  }

  function shown() {
    const slow = frame.contentDocument?.querySelector("[data-slow]");
    const pause = slow ? PAUSES[late++] : undefined;
    if (pause) look(pause);
    if (!slow) late = 0;
  }

  frame.addEventListener("load", shown);
  shown(); // it may have come before this script
  return () => {
    late = 0; // what comes next may be quick, and is asked for again if it is not
    look(REST);
  };
}
