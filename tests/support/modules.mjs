// Runs what tests ask of JavaScript modules: a line of JSON in, one out.
//
// {"folder": ..., "body": ..., "given": ..., "computes": true or absent}: the value of an async
// function's body, or the name and the text of the error. What it imports from "/" is in the folder.
// Unless it only computes, it runs in a thread of its own, which starts much sooner than a page: what
// one test breaks (a global, a module's state) no other sees.
// {"folder": ..., "vectors": path, "most": n, "first": id}: [ran, failures] of a vector file.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

/** Path -> the groups of a file, each of one case, in the order in which mistakes show soonest. */
const ORDERED = new Map();

/** The cases of all groups in turn, those that are refused first, and what walks every branch last. */
function ordered(path) {
  const late = { channel: 4, noise: 4 };
  const rank = ({ type, tests }) => (late[type] ?? 0) + (tests[0].result === "valid" ? 2 : 0);
  const file = JSON.parse(readFileSync(path, "utf-8"));
  const groups = file.groups
    .flatMap((group) => group.tests.map((test, place) => ({ ...group, tests: [test], place })))
    .sort((one, other) => rank(one) - rank(other) || one.place - other.place);
  return { ...file, groups };
}

/** The case `first`, then the others: each a copy, as a module with a mistake may change it. */
function* copies(groups, first) {
  const isFirst = ({ tests }) => tests[0].id === first;
  for (const group of groups.filter(isFirst)) yield structuredClone(group);
  for (const group of groups) if (!isFirst(group)) yield structuredClone(group);
}

async function answer({ folder, body, given, vectors, most, first }) {
  const base = pathToFileURL(folder);
  if (vectors) {
    const { consume } = await import(`${base}/consume.js`);
    if (most === undefined) return consume(JSON.parse(readFileSync(vectors, "utf-8")));
    if (!ORDERED.has(vectors)) ORDERED.set(vectors, ordered(vectors));
    const file = ORDERED.get(vectors);
    return consume({ ...file, groups: copies(file.groups, first) }, most);
  }
  const here = body.replaceAll(/\bimport\((["'])\//g, `import($1${base}/`);
  const run = new (async () => {}).constructor("given", here);
  return run(given).catch(({ name, message }) => ({ name, message }));
}

if (isMainThread) {
  for await (const line of createInterface({ input: process.stdin })) {
    const question = JSON.parse(line);
    if (question.vectors || question.computes) {
      // Another folder has modules of its own, and the vectors change nothing that all share.
      const found = await answer(question).then(
        (value) => ({ value }),
        (error) => ({ broken: `${error.stack ?? error}` }),
      );
      process.stdout.write(`${JSON.stringify(found)}\n`);
      continue;
    }
    const worker = new Worker(new URL(import.meta.url), { workerData: question });
    const found = await new Promise((settle) => {
      worker.once("message", (value) => settle({ value }));
      worker.once("error", (error) => settle({ broken: `${error.stack ?? error}` }));
    });
    await worker.terminate();
    process.stdout.write(`${JSON.stringify(found)}\n`);
  }
} else {
  parentPort.postMessage(await answer(workerData));
}
