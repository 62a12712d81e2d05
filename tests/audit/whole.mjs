// The laws of what a device sends, walked in the modules of a folder: for each line of JSON on
// standard input, [{sent, drawn, share}] of one person's answers, where `how` is makeReport alone or
// a whole device.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// The same digest, without a thread of its own for each of the many.
crypto.subtle.digest = async (_, data) => createHash("sha256").update(data).digest().buffer;

const limits = { survey: "64", author: "64", overall: "64" };
const MODULES = [
  "audit/enumeration.js", "survey/report.js", "device/memory.js", "survey/conditions.js",
  "survey/survey.js",
];

// That of the link which this device opened: the last one.
const ofLink = ({ strata }) =>
  strata && Object.fromEntries(Object.entries(strata).map(([key, values]) => [key, values.at(-1)]));

const SENDS = {
  async make_report({ makeReport }, surveys, answers, coins) {
    const sent = [];
    let memos;
    for (const { definition, digest } of surveys) {
      const made = await makeReport(
        definition, digest, answers, coins, undefined, {}, memos, undefined, ofLink(definition),
      );
      memos = made.memos;
      sent.push(made.text);
    }
    return sent;
  },
  // Each report is sent a second time.
  async "a device"({ EMPTY, answer, drawQuestions }, surveys, answers, coins) {
    const sent = [];
    let memory = EMPTY;
    for (const { definition, digest: version } of surveys) {
      if (definition.invited) {
        const ticket = { id: coins.drawId(), ticket: "00".repeat(288) };
        memory = { ...memory, tickets: { [version]: ticket } };
      }
      const drawn = drawQuestions(definition, coins);
      for (let time = 0; time < 2; time++) {
        memory = await answer(memory, {
          definition, version, answers, drawn, limits, coins, stratum: ofLink(definition),
        });
        sent.push(memory.reports[version].text);
      }
    }
    return sent;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { folder, how, surveys, said, ids } = JSON.parse(line);
  const base = pathToFileURL(folder);
  const loaded = await Promise.all(MODULES.map((path) => import(`${base}/${path}`)));
  const modules = Object.assign({}, ...loaded);
  for (const { definition, digest } of surveys) await modules.verify(definition, digest);
  const answers = new Map(Object.entries(said));
  const send = (coins) => SENDS[how](modules, surveys, answers, coins);
  process.stdout.write(`${JSON.stringify(await modules.wholeReports(send, ids))}\n`);
}
