// The laws of what a device sends, walked in the modules of a folder: [{sent, drawn, share}] for
// each of the answers on standard input, where `how` is makeReport alone or a whole device.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2]);
const [{ wholeReports }, { makeReport }, { EMPTY, answer }, { drawQuestions }, { verify }] =
  await Promise.all(
    [
      "audit/audit.js", "survey/report.js", "device/memory.js", "survey/answers.js",
      "survey/survey.js",
    ].map((path) => import(`${folder}/${path}`)),
  );
const { how, surveys, said, ids } = JSON.parse(readFileSync(0, "utf-8"));
const limits = { survey: "64", author: "64", overall: "64" };

const SENDS = {
  async make_report(answers, coins) {
    const sent = [];
    let memos;
    for (const { definition, digest } of surveys) {
      const made = await makeReport(definition, digest, answers, coins, undefined, {}, memos);
      memos = made.memos;
      sent.push(made.text);
    }
    return sent;
  },
  // Each report is sent a second time.
  async "a device"(answers, coins) {
    const sent = [];
    let memory = EMPTY;
    for (const { definition, digest: version } of surveys) {
      if (definition.invited) {
        const ticket = { id: coins.drawId(), ticket: "00".repeat(288) };
        memory = { ...memory, tickets: { [version]: ticket } };
      }
      const drawn = drawQuestions(definition, coins);
      for (let time = 0; time < 2; time++) {
        memory = await answer(memory, { definition, version, answers, drawn, limits, coins });
        sent.push(memory.reports[version].text);
      }
    }
    return sent;
  },
};

for (const { definition, digest } of surveys) await verify(definition, digest);
const laws = [];
for (const one of said) {
  const answers = new Map(Object.entries(one));
  laws.push(await wholeReports((coins) => SENDS[how](answers, coins), ids));
}
process.stdout.write(JSON.stringify(laws));
