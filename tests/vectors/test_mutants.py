"""The vectors are sharp: each small mistake planted in the JavaScript fails one of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from conftest import VECTORS
from support.modules import Modules


@dataclass(frozen=True)
class Mutant:
    """A text of a module, what is put in its place, and the vector file that notices."""

    mistake: str
    module: str
    text: str
    replacement: str
    noticed_by: str


SELECTION = "subset_selection"
ALL = "mechanisms"
SIGNED = "signatures"
LISTED = "registers"
BLIND = "blind_rsa"
TOLD = "arguments[2]"  # the entry of the register, within the function that makes our own
MUTANTS = (
    Mutant("rejection is one too late", "coins.js", "if (u < limit)", "if (u <= limit)", "coins"),
    Mutant(
        "rejection is one too early", "coins.js", "if (u < limit)", "if (u < limit - 1)", "coins"
    ),
    Mutant("nothing is rejected", "coins.js", "if (u < limit)", "if (u >= 0)", "coins"),
    Mutant("the top bits stay", "coins.js", "byte & 0x1f", "byte", "coins"),
    Mutant("one bit too many is dropped", "coins.js", "byte & 0x1f", "byte & 0x0f", "coins"),
    Mutant("little-endian", "coins.js", "bytes.reduce(", "bytes.toReversed().reduce(", "coins"),
    Mutant("2^53 is refused", "coins.js", "n > LARGEST)", "n >= LARGEST)", "coins"),
    Mutant("a sum may be rounded", "coins.js", " || weight > LARGEST - total", "", "coins"),
    Mutant(
        "weights are one off", "coins.js", "u < (sum += weight)", "u <= (sum += weight)", "coins"
    ),
    Mutant(
        "the weights are swapped",
        "subset_selection.js",
        "[omega * own, (k - omega) * other]",
        "[omega * other, (k - omega) * own]",
        SELECTION,
    ),
    Mutant(
        "kept and left out are swapped",
        "subset_selection.js",
        "[omega * own, (k - omega) * other]",
        "[(k - omega) * other, omega * own]",
        SELECTION,
    ),
    Mutant("Floyd takes j", "subset_selection.js", "k - omega + i - 1", "k - omega + i", SELECTION),
    Mutant(
        "Floyd takes j - 2",
        "subset_selection.js",
        "k - omega + i - 1",
        "k - omega + i - 2",
        SELECTION,
    ),
    Mutant(
        "the bounds of the draws are one off",
        "subset_selection.js",
        "coins.below(k - omega + i)",
        "coins.below(k - omega + i + 1)",
        SELECTION,
    ),
    Mutant(
        "the sort is gone",
        "subset_selection.js",
        "report.sort((a, b) => a - b)",
        "report",
        SELECTION,
    ),
    Mutant(
        "the sort is of texts",
        "subset_selection.js",
        ".sort((a, b) => a - b)",
        ".sort()",
        SELECTION,
    ),
    Mutant(
        "the last draw is discarded", "subset_selection.js", "i = kept ? 1 : 0", "i = 0", SELECTION
    ),
    Mutant(
        "the discarded draw is not taken",
        "subset_selection.js",
        "coins.below(k - omega + i))",
        "kept && i === 0 ? 0 : coins.below(k - omega + i))",
        SELECTION,
    ),
    Mutant(
        "the answer is not renamed",
        "subset_selection.js",
        "i >= answer ?",
        "i > answer ?",
        SELECTION,
    ),
    Mutant(
        "Z is summed in doubles",
        "subset_selection.js",
        "BigInt(omega) * BigInt(own) + BigInt(k - omega) * BigInt(other)",
        "omega * own + (k - omega) * other",
        SELECTION,
    ),
    Mutant(
        "keys by code points",
        "canonical.js",
        "(a < b ? -1 : 1)",
        "((a.codePointAt(0) ?? -1) - (b.codePointAt(0) ?? -1))",
        "canonical",
    ),
    Mutant("repeated keys pass", "canonical.js", "keys?.has(key)", "false", "canonical"),
    Mutant("exponents pass", "canonical.js", "/[.eE]/", "/[.]/", "canonical"),
    Mutant("lone surrogates pass", "canonical.js", r"\p{Surrogate}/u", "[^\\s\\S]/u", "canonical"),
    Mutant(
        "e^epsilon is a double",
        "claim.js",
        "rest >= 0n && atMostExp(loss.odds, rest, d * b)",
        "Number(loss.odds[0]) / Number(loss.odds[1]) <= Math.exp(Number(n) / Number(d))",
        "claims",
    ),
    Mutant(
        "e^epsilon is rounded up",
        "odds.js",
        "let sum = term;",
        "let sum = term + (1n << 70n);",
        "claims",
    ),
    Mutant(
        "odds are compared the wrong way",
        "claim.js",
        "kept = loss.odds[0] * d <=",
        "kept = loss.odds[0] * d >=",
        "claims",
    ),
    Mutant(
        "the exponent is not subtracted",
        "claim.js",
        "const rest = n * b - a * d;",
        "const rest = n * b;",
        "definitions",
    ),
    Mutant(
        "an exponent goes with claimed odds",
        "claim.js",
        "delta === undefined && a === 0n",
        "delta === undefined",
        "definitions",
    ),
    Mutant("a delta goes unsaid", "claim.js", "(n > 0n) === m > 0n && ", "", "definitions"),
    Mutant("delta is not compared", "claim.js", " && m * d <= n * e", "", "definitions"),
    Mutant("any delta is claimed", "claim.js", "10000n * n <= d", "true", "definitions"),
    Mutant(
        "unknown keys pass",
        "shape.js",
        "if (check === undefined) throw",
        "if (check === undefined) continue; else if (!check) throw",
        "definitions",
    ),
    Mutant("a terminal may be steered", "shape.js", r"\x0e-\x1f", "", "definitions"),
    Mutant("a C1 control passes", "shape.js", r"\x7f-\x9f", r"\x7f", "definitions"),
    Mutant("a text may run backwards", "shape.js", r"\u202a-\u202e", "", "definitions"),
    Mutant("an isolate passes", "shape.js", r"\u2066-\u2069", r"\u2066", "definitions"),
    Mutant("a line may be overwritten", "shape.js", r"|\r(?!\n)", "", "definitions"),
    Mutant("lines may not end", "shape.js", r"|\r(?!\n)", r"|\r", "definitions"),
    Mutant("names may repeat", "shape.js", "names.size === value.length", "true", "definitions"),
    Mutant("k may be anything", "choice.js", "=== choices.length", "> 0", "definitions"),
    # --- pick and the mechanisms ---
    Mutant("pick draws below n each time", "coins.js", "below(n - i)", "below(n)", "coins"),
    Mutant(
        "pick does not swap",
        "coins.js",
        "([items[j], items[i]])",
        "([items[j], items[j]])",
        "coins",
    ),
    Mutant("rounding goes to the nearest", "positions.js", "[rest, k - 1 - rest]", "[0, 1]", ALL),
    Mutant(
        "rounding is the wrong way round",
        "positions.js",
        "[rest, k - 1 - rest]",
        "[k - 1 - rest, rest]",
        ALL,
    ),
    Mutant("a window too few", "window.js", "m - w + 1, coins", "m - w, coins", ALL),
    Mutant("the window is skipped wrongly", "window.js", "j < start", "j <= start", ALL),
    Mutant(
        "the outer draw is left out",
        "window.js",
        "const j = coins.below(m - w);",
        "const j = inside ? 0 : coins.below(m - w);",
        ALL,
    ),
    Mutant(
        "inside and outside are drawn in the other order",
        "window.js",
        """const i = coins.below(w);
    const j = coins.below(m - w);""",
        """const j = coins.below(m - w);
    const i = coins.below(w);""",
        ALL,
    ),
    Mutant("a channel's zero passes", "channel.js", "Math.min(...row) >= 1", "true", ALL),
    Mutant("rows of any sum pass", "channel.js", "sum(row) === total", "true", ALL),
    Mutant("equal rows pass", "channel.js", "n > d", "n >= d", ALL),
    Mutant(
        "the last column counts alone",
        "channel.js",
        "if (n * worst[1] > worst[0] * d) worst",
        "worst",
        ALL,
    ),
    Mutant("no blanks", "ticks.js", "upTo(most - answer.length)", "upTo(0 * most)", ALL),
    Mutant(
        "blanks are counted from the end",
        "ticks.js",
        "(blank) => k + blank",
        "(blank) => k + most - 1 - blank",
        ALL,
    ),
    Mutant(
        "sets without a tick weigh own",
        "ticks.js",
        "shared === 0 ? other : own",
        "shared === 0 ? own : other",
        ALL,
    ),
    Mutant(
        "only as much is picked as is used",
        "ticks.js",
        "coins.pick(k, size).slice(0, size - shared)",
        "coins.pick(k, size - shared)",
        ALL,
    ),
    Mutant("a flip keeps", "ticks.js", "1 - flip : flip", "flip : 1 - flip", ALL),
    Mutant(
        "sampled options stay unsorted",
        "ticks.js",
        "ascending(coins.pick(k, s))",
        "coins.pick(k, s)",
        ALL,
    ),
    Mutant(
        "one tick's odds are all",
        "ticks.js",
        "pure([BigInt(own) ** BigInt(s), BigInt(other) ** BigInt(s)])",
        "pure([BigInt(own), BigInt(other)])",
        ALL,
    ),
    Mutant("the options left over are many", "ticks.js", "Math.min(most, k - most)", "most", ALL),
    Mutant("the better ratio is the worse", "ticks.js", "a * d > c * b", "a * d < c * b", ALL),
    Mutant(
        "the unticked have own", "ticks.js", "(option) ? own : other", "(option) ? other : own", ALL
    ),
    Mutant("ticks may repeat", "ticks.js", "least = tick + 1", "least = tick", ALL),
    Mutant("the game ends on even", "noise.js", "j % 2 === 1", "j % 2 === 0", ALL),
    Mutant(
        "the game stops drawing",
        "noise.js",
        "[coins.choose([n, d - n]), coins.below(j)]",
        "[coins.choose([n, d - n]) || coins.below(j)]",
        ALL,
    ),
    Mutant("the whole part is left out", "noise.js", "whole > 0n", "whole > 1n", ALL),
    Mutant("not in lowest terms", "noise.js", "parts(fraction(n, d))", "[n, d]", ALL),
    Mutant("zero comes twice", "noise.js", "if (!negative) return 0;", "return 0;", ALL),
    Mutant(
        "zero is returned before its sign is drawn",
        "noise.js",
        "const negative = coins.below(2) === 1;",
        "if (magnitude === 0) return 0;\n    const negative = coins.below(2) === 1;",
        ALL,
    ),
    Mutant(
        "the square root is rounded",
        "noise.js",
        "Math.floor(Math.sqrt(",
        "Math.round(Math.sqrt(",
        ALL,
    ),
    Mutant(
        "the square is a double",
        "noise.js",
        "(BigInt(Math.abs(y)) * Q * T - P) ** 2n",
        "BigInt((Math.abs(y) * q * t - p) ** 2)",
        ALL,
    ),
    Mutant(
        "clamping forgets the top",
        "noise.js",
        "Math.min(Math.max(y, 0), k - 1)",
        "Math.max(y, 0)",
        ALL,
    ),
    Mutant("k steps apart", "noise.js", "BigInt(k - 1) * s", "BigInt(k) * s", ALL),
    Mutant(
        "coordinates are blocks",
        "noise.js",
        "reach) * d + c",
        "reach) + c * d",
        ALL,
    ),
    Mutant(
        "noise goes anywhere", "noise.js", "Math.min(Math.max(y, -reach), k - 1 + reach)", "y", ALL
    ),
    Mutant("noise is as wide as it likes", "noise.js", "must(k + 2 * reach <=", "must(k <=", ALL),
    Mutant("any sigma2 is kept", "noise.js", "must(kept,", "must(kept || true,", ALL),
    Mutant(
        "one number's noise is enough", "gaussian_noise.js", "if (d === 1n)", "if (d >= 1n)", ALL
    ),
    Mutant(
        "the tail starts one too late",
        "gaussian_noise.js",
        "2n * shift * e * q) + 1n",
        "2n * shift * e * q) + 2n",
        ALL,
    ),
    Mutant("the parts stay unsorted", "vector.js", ".sort((a, b) => a - b)", "", ALL),
    Mutant("parts are numbered first", "vector.js", "y * d + c", "c * d + y", ALL),
    Mutant(
        "the first parts are the worst",
        "loss.js",
        "above(a, b) ? -1 : above(b, a) ? 1 : 0",
        "0",
        ALL,
    ),
    Mutant(
        "the smallest losses count", "loss.js", "above(a, b) ? -1", "above(b, a) ? -1", "totals"
    ),
    Mutant(
        "deltas are those of the largest odds",
        "loss.js",
        "const { delta } = most(({ delta: [n, d] }, { delta: [m, e] }) => n * e > m * d);",
        "const { delta } = most(above);",
        "totals",
    ),
    Mutant("all are asked", "loss.js", "slice(0, count)", "slice(0)", "totals"),
    Mutant(
        "exponents are not added",
        "loss.js",
        "exponent: plus(one.exponent, two.exponent)",
        "exponent: two.exponent",
        "totals",
    ),
    # --- the types of question ---
    Mutant(
        "a mean takes a coarse grid",
        "numbers.js",
        "exactly ? k === count : k <= count",
        "k <= count",
        "definitions",
    ),
    Mutant("any number of steps passes", "numbers.js", "n % d === 0n && ", "", "definitions"),
    Mutant("minus nothing is a number", "numbers.js", "(?!-0$)", "", "definitions"),
    Mutant(
        "grid need not fit", "numbers.js", 'mechanism["k"] === grid * grid', "true", "definitions"
    ),
    Mutant(
        "combinations need not fit",
        "numbers.js",
        'mechanism["k"] === combinations',
        "true",
        "definitions",
    ),
    Mutant("scores may fall", "choices.js", "Math.min(...gaps) > 0", "true", "definitions"),
    Mutant(
        "scores of a mean may be uneven",
        "choices.js",
        'aim === "distribution" || even',
        "true",
        "definitions",
    ),
    Mutant("most need not fit", "choices.js", "question.most === most", "true", "definitions"),
    Mutant(
        "rows need not fit",
        "choice.js",
        'name !== "channel" || weights.length === k',
        "true",
        "definitions",
    ),
    Mutant(
        "any mechanism fits",
        "questions.js",
        "must(allowed,",
        "must(mechanism?.name,",
        "definitions",
    ),
    Mutant(
        "free text is one unknown type of many",
        "questions.js",
        "if (!FREE_TEXT",
        "if (true || !FREE_TEXT",
        "definitions",
    ),
    Mutant("every unknown type is free text", "questions.js", "/^(text|", "/(text|", "definitions"),
    Mutant(
        "an unknown type is not asked for its mechanism",
        "questions.js",
        "if (type === undefined) throw",
        "if (type === undefined) return; else if (!type) throw",
        "definitions",
    ),
    Mutant(
        "conditions may look ahead",
        "answers.js",
        "questions.slice(0, i)",
        "questions",
        "definitions",
    ),
    Mutant(
        "conditions may name anything",
        "answers.js",
        "must(known,",
        "must(known || true,",
        "definitions",
    ),
    Mutant(
        "ask may be all",
        "answers.js",
        "ask < questions.length",
        "ask <= questions.length",
        "definitions",
    ),
    Mutant(
        "ask goes with show_if",
        "answers.js",
        "must(ask === undefined,",
        "must(true,",
        "definitions",
    ),
    Mutant(
        "halves go down",
        "numbers.js",
        "(2n * n + d) / (2n * d)",
        "(2n * n + d - 1n) / (2n * d)",
        "answers",
    ),
    Mutant("numbers are cut off", "numbers.js", "(2n * n + d) / (2n * d)", "n / d", "answers"),
    Mutant(
        "numbers may pass the end",
        "numbers.js",
        "Math.min(Math.max(nearest, 0), count - 1)",
        "Math.max(nearest, 0)",
        "answers",
    ),
    Mutant(
        "cells are rounded", "numbers.js", "return Math.floor((", "return Math.round((", "answers"
    ),
    Mutant(
        "the second number comes first",
        "numbers.js",
        "sum * grid + cell",
        "sum + grid * cell",
        "answers",
    ),
    Mutant(
        "ticks stay unsorted",
        "choices.js",
        "[...ticks].sort((a, b) => a - b)",
        "[...ticks]",
        "answers",
    ),
    Mutant("too many ticks pass", "choices.js", "ticks.size > most", "false", "answers"),
    Mutant(
        "a hidden answer counts", "answers.js", "hidden.includes(earlier) ? HIDDEN :", "", "answers"
    ),
    Mutant(
        "several are hidden by a name",
        "answers.js",
        'type === "select_multiple" ? [HIDDEN] : HIDDEN',
        "HIDDEN",
        "answers",
    ),
    Mutant(
        "deltas are forgotten", "ledger.js", "delta: parts(delta),", "delta: [0n, 1n],", "ledger"
    ),
    Mutant(
        "other surveys count",
        "ledger.js",
        "ledger.filter((each) => each.version === version)",
        "ledger",
        "ledger",
    ),
    Mutant(
        "a charge is free",
        "ledger.js",
        "const after = sum(before, asked);",
        "const after = before;",
        "ledger",
    ),
    Mutant("limits let half more pass", "ledger.js", "d * b)", "d * b / 2n)", "ledger"),
    Mutant("deltas have no limit", "ledger.js", "n * DELTA_LIMIT > d", "false", "ledger"),
    Mutant("a delta may not reach its limit", "ledger.js", "LIMIT > d", "LIMIT >= d", "ledger"),
    Mutant("no delta is refused", "ledger.js", "asked.delta[0] > 0n && ", "", "ledger"),
    Mutant("long odds are rounded down", "ledger.js", "(n << 64n) + d - 1n", "n << 64n", "ledger"),
    Mutant(
        "what is shown after a change stays",
        "memory.js",
        "after || changed.includes",
        "changed.includes",
        "ledger",
    ),
    Mutant(
        "repeats are charged",
        "memory.js",
        "after || changed.includes(question.name)",
        "true",
        "ledger",
    ),
    Mutant("later waves are charged", "memory.js", "!known.includes(name)", "true", "ledger"),
    Mutant("a memo costs a report", "memory.js", "history(question.mechanism) ?? ", "", "ledger"),
    Mutant("every panel is one", "memory.js", "${waves?.panel}", "play", "ledger"),
    Mutant("a report may be another's", "memory.js", "report.survey === version &&", "", "ledger"),
    Mutant(
        "any order of keys will do", "memory.js", "canonicalise(memory) === text", "true", "ledger"
    ),
    Mutant(
        "halves may be unreduced",
        "memory.js",
        "fraction(...parts(value)) === value",
        "true",
        "ledger",
    ),
    Mutant("any memo will do", "memoised.js", "must(known,", "must(true,", "waves"),
    Mutant("a memo of any size will do", "memoised.js", "kept.length === 1 &&", "", "waves"),
    Mutant("a memo beyond the last", "memoised.js", "one < sizes(once).memos", "true", "waves"),
    Mutant(
        "the memo is not given back",
        "mechanism.js",
        "{ report: again(mechanism, memo, coins), memo }",
        "{ report: again(mechanism, memo, coins), memo: [] }",
        "waves",
    ),
    Mutant(
        "the answer is kept as it is",
        "memoised.js",
        "family(memo(mechanism)).randomise(memo(mechanism), answer, coins)",
        "[answer]",
        "waves",
    ),
    Mutant(
        "the memo itself is sent",
        "memoised.js",
        "return subsetSelection.subset_selection.randomise(fresh(mechanism), one, coins)",
        "return [one]",
        "waves",
    ),
    Mutant(
        "a report from the memo as from an answer",
        "memoised.js",
        "randomise(fresh(mechanism), one, coins)",
        "randomise(once, one, coins)",
        "waves",
    ),
    Mutant(
        "one report claims what the history gives away",
        "memoised.js",
        "loss: ({ once }) => family(once).loss(once)",
        "loss: (mechanism) => family(memo(mechanism)).loss(memo(mechanism))",
        "waves",
    ),
    Mutant(
        "the history claims what one report gives away",
        "memoised.js",
        "history: (mechanism) => family(memo(mechanism)).loss(memo(mechanism))",
        "history: ({ once }) => family(once).loss(once)",
        "waves",
    ),
    Mutant("a memo names several", "memoised.js", "omega: 1, own", "omega: 2, own", "waves"),
    Mutant("other memos add nothing", "memoised.js", "BigInt(of) * ", "0n * ", "waves"),
    Mutant("the memo weighs less", "memoised.js", "least + step)", "step)", "waves"),
    Mutant(
        "a window counts one memo too many",
        "memoised.js",
        "Math.max(y - favoured, -1)",
        "Math.max(y - favoured, -2)",
        "waves",
    ),
    Mutant(
        "a window counts memos beyond the last",
        "memoised.js",
        "Math.min(y, memos - 1)",
        "y",
        "waves",
    ),
    Mutant("a window begins late", "memoised.js", "y >= kept &&", "y > kept &&", "waves"),
    Mutant(
        "a column is not taken off", "memoised.js", "- BigInt(other) * sum(column)", "", "waves"
    ),
    Mutant(
        "a memo may rule a report out",
        "memoised.js",
        "weights(mechanism, sizes(once).of)[0] >= 1n",
        "weights(mechanism, sizes(once).of)[0] >= 0n",
        "waves",
    ),
    Mutant("a row may rule one out", "memoised.js", "weight >= 1n", "weight >= -99n", "waves"),
    Mutant(
        "too few windows", "memoised.js", "Math.min(w, memos - 1)", "Math.min(w, memos)", "waves"
    ),
    Mutant("blanks are no memos", "memoised.js", "memos: k + most, of", "memos: k, of", "waves"),
    Mutant("ticks are kept in sets", "memoised.js", "size === 1", "true", "waves"),
    Mutant(
        "weights may be too large", "memoised.js", "must(whole <=", "must(true || whole <=", "waves"
    ),
    Mutant(
        "a thousand ticks and more",
        "memoised.js",
        'if (once.name === "set_response") subset',
        "if (false) subset",
        "waves",
    ),
    Mutant(
        "no history is needed", "claim.js", "must(stated ===", "must(true || stated ===", "waves"
    ),
    Mutant(
        "the history is not verified",
        "claim.js",
        "checkClaim(history, loss,",
        "checkClaim(history, pure([1n, 1n]),",
        "waves",
    ),
    Mutant(
        "waves may ask some",
        "survey.js",
        "waves === undefined || !conditional",
        "true || conditional",
        "waves",
    ),
    Mutant("memos without waves", "survey.js", "must(fits, ", "must(true, ", "waves"),
    Mutant("memos beside a count", "survey.js", " && waves.count === undefined", "", "waves"),
    Mutant("any count of waves", "survey.js", "count: between(2, 100)", "count: anything", "waves"),
    Mutant(
        "any number of recognised",
        "survey.js",
        "recognised: between(10, 1000)",
        "recognised: anything",
        "waves",
    ),
    Mutant("counted waves cost one", "total.js", "ask * count,", "ask,", "waves"),
    Mutant("waves have no end", "memory.js", "if (sent >= most)", "if (false)", "ledger"),
    Mutant("one wave more", "memory.js", "if (sent >= most)", "if (sent > most)", "ledger"),
    Mutant("a later count counts", "memory.js", "Math.min(count, stated)", "stated", "ledger"),
    Mutant("an earlier count counts", "memory.js", "Math.min(count, stated)", "count", "ledger"),
    Mutant("waves are not counted", "memory.js", "sent: sent + 1", "sent: 1", "ledger"),
    Mutant("more sent than waves", "memory.js", "value.sent <= value.count", "true", "ledger"),
    Mutant("none of them sent", "memory.js", "value.sent >= 1 &&", "", "ledger"),
    # --- the author's signature ---
    Mutant("any signature will do", "signing.js", "!(await verify(", "(await !verify(", SIGNED),
    Mutant("the signature is of the digest", "signing.js", "deniably survey 1\\n", "", SIGNED),
    Mutant("the signature is of any digest", "signing.js", "1\\n${digest}", "1\\n", SIGNED),
    Mutant("keys of any form", "signing.js", "/^[0-9a-f]{64}$/.test(author)", "true", SIGNED),
    Mutant("keys go on", "signing.js", "{64}$/", "{64}/", SIGNED),
    Mutant("keys begin before", "signing.js", "/^[0-9a-f]{64}", "/[0-9a-f]{64}", SIGNED),
    Mutant(
        "signatures of any form", "signing.js", "/^[0-9a-f]{128}$/.test(signature)", "true", SIGNED
    ),
    Mutant("signatures go on", "signing.js", "{128}$/", "{128}/", SIGNED),
    Mutant("signatures begin before", "signing.js", "/^[0-9a-f]{128}", "/[0-9a-f]{128}", SIGNED),
    Mutant("a key is no text", "signing.js", 'typeof author === "string" &&', "", LISTED),
    Mutant("a signature is no text", "signing.js", '&& typeof signature === "string"', "", LISTED),
    Mutant("half a fingerprint", "signing.js", "slice(0, 32)", "slice(0, 16)", SIGNED),
    Mutant("the end of a fingerprint", "signing.js", "slice(0, 32)", "slice(32)", SIGNED),
    Mutant(
        "what the browser says is not heard",
        "signing.js",
        "return await crypto.subtle.verify(",
        "return !!crypto.subtle.verify(",
        SIGNED,
    ),
    Mutant(
        "what the browser cannot tell is right",
        "signing.js",
        "return own.verify(key, signature, message)",
        "return true",
        SIGNED,
    ),
    # --- Ed25519 ---
    Mutant("S may be too large", "ed25519.js", " || s >= ORDER", "", SIGNED),
    Mutant("S may be the order", "ed25519.js", "s >= ORDER", "s > ORDER", SIGNED),
    Mutant("a key of any length", "ed25519.js", "key.length !== 32 || ", "", SIGNED),
    Mutant("a signature of any length", "ed25519.js", " || signature.length !== 64", "", SIGNED),
    Mutant("a key that is none", "ed25519.js", "author === undefined || ", "", SIGNED),
    Mutant("any R will do", "ed25519.js", "=== number(r)", "=== number(r) || true", SIGNED),
    Mutant(
        "the sign of R does not count",
        "ed25519.js",
        "| ((mod(x * inverse) & 1n) << 255n)",
        "| (0n * x)",
        SIGNED,
    ),
    Mutant("A is added", "ed25519.js", "[mod(-x), y, z, mod(-t)]", "[x, y, z, t]", SIGNED),
    Mutant("R is not hashed", "ed25519.js", "[...r, ...key, ", "[...key, ", SIGNED),
    Mutant("the key is not hashed", "ed25519.js", "[...r, ...key, ", "[...r, ", SIGNED),
    Mutant("the message is not hashed", "ed25519.js", ", ...message]", "]", SIGNED),
    Mutant("an encoding above P", "ed25519.js", "if (y >= P) return undefined;", "", SIGNED),
    Mutant("an encoding of P", "ed25519.js", "y >= P", "y > P", SIGNED),
    Mutant(
        "what is not on the curve",
        "ed25519.js",
        "if (mod(x * x) !== square || (",
        "if ((",
        SIGNED,
    ),
    Mutant("nought with a sign", "ed25519.js", " || (x === 0n && sign === 1n)", "", SIGNED),
    Mutant(
        "half of the roots",
        "ed25519.js",
        "if (mod(x * x) !== square) x = mod(x * ROOT);",
        "",
        SIGNED,
    ),
    Mutant("the sign of the key does not count", "ed25519.js", "!== sign) x", "!== 0n) x", SIGNED),
    # --- the register ---
    Mutant("entries of any number", "register.js", "entry.number === i + 1 &&", "", LISTED),
    Mutant("the chain is not checked", "register.js", " && entry.previous === last", "", LISTED),
    Mutant("any head will do", "register.js", "last !== document.head", "false", LISTED),
    Mutant("the past is rewritten", "register.js", "i === count && last !== head", "false", LISTED),
    Mutant("the register is cut", "register.js", "entries.length < count", "false", LISTED),
    Mutant(
        "the whole past is rewritten",
        "register.js",
        "entries.length === count && last !== head",
        "false",
        LISTED,
    ),
    Mutant("what is closed counts", "register.js", 'event === "published" &&', "", LISTED),
    Mutant("any survey will do", "register.js", " && survey === name", "", LISTED),
    Mutant("two of one name", "register.js", "found.length > 1", "false", LISTED),
    Mutant("no survey at all", "register.js", "found.length === 0", "false", LISTED),
    Mutant(
        "no digest is compared",
        "register.js",
        "entry.digest !== version",
        "(entry.digest = version) !== version",
        LISTED,
    ),
    Mutant("any day will do", "register.js", "if (!dated)", "if (!dated && false)", LISTED),
    Mutant("a day goes on", "register.js", "\\d{2}$/", "\\d{2}/", LISTED),
    Mutant("a day begins before", "register.js", "/^\\d{4}", "/\\d{4}", LISTED),
    Mutant("a day is no text", "register.js", 'typeof entry.day === "string" &&', "", LISTED),
    Mutant("members more", "register.js", "{ ...own, ...entry }", "own", LISTED),
    Mutant("members less", "register.js", "{ ...own, ...entry }", "entry", LISTED),
    Mutant(
        "nothing is compared", "register.js", "written(own) !== written(entry)", "false", LISTED
    ),
    Mutant(
        "any epsilon", "register.js", "epsilon: epsilon(all)", f"epsilon: {TOLD}.epsilon", LISTED
    ),
    Mutant("any delta", "register.js", "delta: decimal(all.delta)", f"delta: {TOLD}.delta", LISTED),
    Mutant(
        "any mechanism",
        "register.js",
        "mechanism: mechanism.name",
        f"mechanism: {TOLD}.questions?.find((one) => one.name === question)?.mechanism ?? ''",
        LISTED,
    ),
    Mutant(
        "any epsilon of a question",
        "register.js",
        "epsilon: epsilon(loss(mechanism))",
        f"epsilon: {TOLD}.questions?.find((one) => one.name === question)?.epsilon ?? ''",
        LISTED,
    ),
    Mutant(
        "any history",
        "register.js",
        "{ history: epsilon(history(definition)) }",
        f"'history' in {TOLD} && {{ history: {TOLD}.history }}",
        LISTED,
    ),
    Mutant(
        "the history is one wave's",
        "register.js",
        "epsilon(history(definition))",
        "epsilon(all)",
        LISTED,
    ),
    Mutant(
        "a history without waves",
        "register.js",
        "...(waves && {",
        "...(true && {",
        LISTED,
    ),
    Mutant(
        "no history with waves",
        "register.js",
        "...(waves && {",
        "...(false && {",
        LISTED,
    ),
    Mutant("epsilon is rounded down", "register.js", "String(low)", "String(low - 1n)", LISTED),
    Mutant(
        "the signature is not verified",
        "register.js",
        "await checkSignature(version, entry.author, entry.signature);",
        "",
        LISTED,
    ),
    Mutant("any author will do", "register.js", "authors.length > 0 &&", "false &&", LISTED),
    Mutant("nobody is known", "register.js", "!authors.includes(entry.author) &&", "", LISTED),
    Mutant(
        "any author is the accepted one", "register.js", "accepted !== print", "!accepted", LISTED
    ),
    Mutant("nobody can be accepted", "register.js", " && accepted !== print", "", LISTED),
    Mutant(
        "the longer register is forgotten",
        "register.js",
        "(before < count && ",
        "(true && ",
        LISTED,
    ),
    Mutant(
        "the author is not kept", "register.js", "new Set([...authors, author])", "authors", LISTED
    ),
    Mutant("any key", "register.js", "checkedKey(invitations)", "invitations", LISTED),
    Mutant("no key of invitations", "register.js", "definition.invited &&", "false &&", LISTED),
    Mutant(
        "a key without invitations",
        "register.js",
        "definition.invited &&",
        "invitations &&",
        LISTED,
    ),
    Mutant("the key is not told", "register.js", "...(invitations && { invitations })", "", LISTED),
    Mutant("invited is anything", "survey.js", "value === true", "true", "definitions"),
    Mutant("trades of nothing", "memory.js", "Object.keys(value).length > 0", "true", "ledger"),
    Mutant("short tickets", "memory.js", "NUMBER(288, 544)", "NUMBER(1, 544)", "ledger"),
    Mutant("long tickets", "memory.js", "NUMBER(288, 544)", "NUMBER(288, 1000)", "ledger"),
    Mutant("any code", "memory.js", "/^[0-9A-HJKMNP-TV-Y]{18}$/", "/^/", "ledger"),
    Mutant("one square less", "blind_rsa.js", "squared < 16", "squared < 15", BLIND),
    Mutant("one square more", "blind_rsa.js", "squared < 16", "squared < 17", BLIND),
    Mutant("an even exponent", "blind_rsa.js", "(result * base) % modulus", "result", BLIND),
    Mutant("it is not blinded", "blind_rsa.js", "(number * factor) % modulus", "number", BLIND),
    Mutant(
        "blinded with the inverse",
        "blind_rsa.js",
        "power(inverted(back, modulus) ?? 0n, modulus)",
        "power(back, modulus)",
        BLIND,
    ),
    Mutant(
        "the blinding stays on",
        "blind_rsa.js",
        "(read(blindSignature) * read(inverse)) % modulus",
        "read(blindSignature) % modulus",
        BLIND,
    ),
    Mutant(
        "a signature is not verified",
        "blind_rsa.js",
        "  await verify(key, prepared, signature, saltLength);\n",
        "",
        BLIND,
    ),
    Mutant("any signature is good", "blind_rsa.js", "if (!good)", "if (false)", BLIND),
    Mutant("any number will do", "blind_rsa.js", " && text < key", "", BLIND),
    Mutant("any length will do", "blind_rsa.js", "text.length === key.length && ", "", BLIND),
    Mutant("an even key", "shape.js", "[13579bdf]$/", "[0-9a-f]$/", BLIND),
    Mutant("a modulus of any length", "shape.js", "{255,511}", "*", BLIND),
    Mutant("a shorter key", "shape.js", "{255,511}", "{254,511}", BLIND),
    Mutant("a key that begins with 0", "shape.js", "/^[89a-f]", "/^[0-9a-f]", BLIND),
    Mutant("a key goes on", "shape.js", "[13579bdf]$/", "[13579bdf]/", BLIND),
    Mutant(
        "the salt has its usual length",
        "blind_rsa.js",
        ", saltLength };",
        ", saltLength: 48 };",
        BLIND,
    ),
    Mutant("the salt is left out", "blind_rsa.js", "+ salt);", ");", BLIND),
    Mutant(
        "the message is not hashed first",
        "blind_rsa.js",
        "(await sha384(message))",
        "message",
        BLIND,
    ),
    Mutant("the counter begins at 1", "blind_rsa.js", "let count = 0;", "let count = 1;", BLIND),
    Mutant(
        "the counter has two bytes", "blind_rsa.js", 'padStart(8, "0")', 'padStart(4, "0")', BLIND
    ),
    Mutant("another last byte", "blind_rsa.js", "0xbcn", "0xbdn", BLIND),
    Mutant(
        "a bit too many", "blind_rsa.js", "asUintN(bits, whole)", "asUintN(bits + 1, whole)", BLIND
    ),
    Mutant(
        "noughts are dropped",
        "blind_rsa.js",
        '.padStart(key.length, "0");\n  await',
        ";\n  await",
        BLIND,
    ),
    Mutant("weights begin at 0", "codes.js", "(i + 1) * digit", "i * digit", "codes"),
    Mutant("all weights are one", "codes.js", "(i + 1) * digit", "digit", "codes"),
    Mutant("no sum", "codes.js", " && adds(code)", "", "codes"),
    Mutant("the last is in the sum", "codes.js", ".slice(0, -1)", "", "codes"),
    Mutant("small letters are refused", "codes.js", ".toUpperCase()", "", "codes"),
    Mutant("U is unlike V", "codes.js", "[OILZU]", "[OILZ]", "codes"),
    Mutant("any letter is a letter", "codes.js", "!/^[0-9A-Za-z]*$/.test(last)", "false", "codes"),
    Mutant("19 characters", "codes.js", "code.length === LENGTH && ", "", "codes"),
    Mutant("links are not read", "codes.js", 'text.lastIndexOf("#") + 1', "0", "codes"),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake.replace(" ", "_"))
def test_a_planted_mistake_fails_the_vectors(mutant: Mutant, modules: Modules) -> None:
    with modules.planted(mutant.module, mutant.text, mutant.replacement) as folder:
        _, (failure,) = modules.vectors(VECTORS / f"{mutant.noticed_by}.json", folder, most=1)

    assert failure.startswith("case ")
