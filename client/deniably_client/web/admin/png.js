// Saves a figure for a paper as a picture of 600 dots an inch, drawn by this browser.

const DOTS = 600 / 25.4; // a millimetre
const FAILED = "Your browser could not draw the picture. Save the SVG instead.";

/** @param {HTMLButtonElement} button names the SVG, the width in millimetres, and the file */
async function save({ dataset: { figure = "", width = "", file = "" } }) {
  const image = Object.assign(new Image(), { src: figure });
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(Number(width) * DOTS);
  canvas.height = Math.round((canvas.width * image.naturalHeight) / image.naturalWidth);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  /** @type {Blob | null} */
  const picture = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (picture === null) throw new Error(FAILED);
  const link = Object.assign(document.createElement("a"), { download: file });
  link.href = URL.createObjectURL(picture);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (
  document.querySelectorAll("button[data-figure]")
)) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const why = /** @type {HTMLElement} */ (button.closest("section")?.querySelector(".error"));
    button.disabled = true;
    try {
      await save(button);
      why.hidden = true;
    } catch {
      why.textContent = FAILED;
      why.hidden = false;
    }
    button.disabled = false;
  });
}
