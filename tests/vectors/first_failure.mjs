// The first case of a vector file that fails in the modules of a folder, as JSON: [ran, failures].
// Run in Node, where a process for each planted mistake starts much sooner than a page.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const { consume } = await import(`${pathToFileURL(folder)}/consume.js`);
const found = await consume(JSON.parse(readFileSync(file, "utf-8")), 1);
process.stdout.write(JSON.stringify(found));
