"""The vectors are sharp: each small mistake planted in the JavaScript fails one of them.

Report sets have no JavaScript: there mistakes are planted in the Python.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from conftest import VECTORS
from deniably.workbench import ordering, report_columns
from deniably.workbench.engines import question_counters, tally_file, tallying
from deniably.workbench.files.optional_libraries import NoExport
from support.modules import Modules
from support.report_sets import check_report_set


@dataclass(frozen=True)
class Mutant:
    """A text of a module, what is put in its place, and the vector file that notices, by a ``case``
    that runs first (so that most of the file need not)."""

    mistake: str
    module: str
    text: str
    replacement: str
    noticed_by: str
    case: int


SELECTION = "subset_selection"
ALL = "mechanisms"
SIGNED = "signatures"
LISTED = "registers"
PROVEN = "listings"
BLIND = "blind_rsa"
SEALED = "envelopes"
TOLD = "arguments[2]"  # the entry of the register, within the function that makes our own
MUTANTS = (
    Mutant(
        "rejection is one too late", "coins.js", "if (u < limit)", "if (u <= limit)", "coins", 19
    ),
    Mutant(
        "rejection is one too early", "coins.js", "if (u < limit)", "if (u < limit - 1)", "coins", 2
    ),
    Mutant("nothing is rejected", "coins.js", "if (u < limit)", "if (u >= 0)", "coins", 19),
    Mutant("the top bits stay", "coins.js", "byte & 0x1f", "byte", "coins", 195),
    Mutant("one bit too many is dropped", "coins.js", "byte & 0x1f", "byte & 0x0f", "coins", 16),
    Mutant("little-endian", "coins.js", "bytes.reduce(", "bytes.toReversed().reduce(", "coins", 16),
    Mutant("2^53 is refused", "coins.js", "n > LARGEST)", "n >= LARGEST)", "coins", 183),
    Mutant("a sum may be rounded", "coins.js", " || weight > LARGEST - total", "", "coins", 256),
    Mutant(
        "weights are one off",
        "coins.js",
        "u < (sum += weight)",
        "u <= (sum += weight)",
        "coins",
        199,
    ),
    Mutant(
        "the weights are swapped",
        "subset_selection.js",
        "[omega * own, (k - omega) * other]",
        "[omega * other, (k - omega) * own]",
        SELECTION,
        1,
    ),
    Mutant(
        "kept and left out are swapped",
        "subset_selection.js",
        "[omega * own, (k - omega) * other]",
        "[(k - omega) * other, omega * own]",
        SELECTION,
        1,
    ),
    Mutant(
        "Floyd takes j", "subset_selection.js", "k - omega + i - 1", "k - omega + i", SELECTION, 160
    ),
    Mutant(
        "Floyd takes j - 2",
        "subset_selection.js",
        "k - omega + i - 1",
        "k - omega + i - 2",
        SELECTION,
        160,
    ),
    Mutant(
        "the bounds of the draws are one off",
        "subset_selection.js",
        "coins.below(k - omega + i)",
        "coins.below(k - omega + i + 1)",
        SELECTION,
        958,
    ),
    Mutant(
        "the sort is gone",
        "subset_selection.js",
        "report.sort((a, b) => a - b)",
        "report",
        SELECTION,
        52,
    ),
    Mutant(
        "the sort is of texts",
        "subset_selection.js",
        ".sort((a, b) => a - b)",
        ".sort()",
        SELECTION,
        910,
    ),
    Mutant(
        "the last draw is discarded",
        "subset_selection.js",
        "i = kept ? 1 : 0",
        "i = 0",
        SELECTION,
        1,
    ),
    Mutant(
        "the discarded draw is not taken",
        "subset_selection.js",
        "coins.below(k - omega + i))",
        "kept && i === 0 ? 0 : coins.below(k - omega + i))",
        SELECTION,
        1,
    ),
    Mutant(
        "the answer is not renamed",
        "subset_selection.js",
        "i >= answer ?",
        "i > answer ?",
        SELECTION,
        52,
    ),
    Mutant(
        "Z is summed in doubles",
        "subset_selection.js",
        "BigInt(omega) * BigInt(own) + BigInt(k - omega) * BigInt(other)",
        "omega * own + (k - omega) * other",
        SELECTION,
        1021,
    ),
    Mutant(
        "keys by code points",
        "canonical.js",
        "(a < b ? -1 : 1)",
        "((a.codePointAt(0) ?? -1) - (b.codePointAt(0) ?? -1))",
        "canonical",
        15,
    ),
    Mutant("repeated keys pass", "canonical.js", "keys?.has(key)", "false", "canonical", 57),
    Mutant("exponents pass", "canonical.js", "/[.eE]/", "/[.]/", "canonical", 37),
    Mutant(
        "lone surrogates pass", "canonical.js", r"\p{Surrogate}/u", "[^\\s\\S]/u", "canonical", 51
    ),
    Mutant(
        "e^epsilon is a double",
        "claim.js",
        "rest >= 0n && atMostExp(loss.odds, rest, d * b)",
        "Number(loss.odds[0]) / Number(loss.odds[1]) <= Math.exp(Number(n) / Number(d))",
        "claims",
        15,
    ),
    Mutant(
        "e^epsilon is rounded up",
        "odds.js",
        "let sum = term;",
        "let sum = term + (1n << 70n);",
        "claims",
        131,
    ),
    Mutant(
        "odds are compared the wrong way",
        "claim.js",
        "kept = loss.odds[0] * d <=",
        "kept = loss.odds[0] * d >=",
        "claims",
        136,
    ),
    Mutant(
        "the exponent is not subtracted",
        "claim.js",
        "const rest = n * b - a * d;",
        "const rest = n * b;",
        "definitions",
        355,
    ),
    Mutant(
        "an exponent goes with claimed odds",
        "claim.js",
        "delta === undefined && a === 0n",
        "delta === undefined",
        "definitions",
        354,
    ),
    Mutant("a delta goes unsaid", "claim.js", "(n > 0n) === m > 0n && ", "", "definitions", 413),
    Mutant("delta is not compared", "claim.js", " && m * d <= n * e", "", "definitions", 414),
    Mutant("any delta is claimed", "claim.js", "10000n * n <= d", "true", "definitions", 415),
    Mutant(
        "unknown keys pass",
        "validators.js",
        "if (check === undefined) throw",
        "if (check === undefined) continue; else if (!check) throw",
        "definitions",
        112,
    ),
    Mutant("a terminal may be steered", "validators.js", r"\x0e-\x1f", "", "definitions", 310),
    Mutant("a C1 control passes", "validators.js", r"\x7f-\x9f", r"\x7f", "definitions", 312),
    Mutant("a text may run backwards", "validators.js", r"\u202a-\u202e", "", "definitions", 313),
    Mutant("an isolate passes", "validators.js", r"\u2066-\u2069", r"\u2066", "definitions", 316),
    Mutant("a line may be overwritten", "validators.js", r"|\r(?!\n)", "", "definitions", 317),
    Mutant("a title may have lines", "validators.js", r"[\n\u2028\u2029]|", "", "definitions", 318),
    Mutant("a title may have U+2028", "validators.js", r"\n\u2028", r"\n", "definitions", 320),
    Mutant(
        "no paragraphs",
        "validators.js",
        "prose = without(STEERING)",
        "prose = without(/[\\n\\0-\\x08]/)",
        "definitions",
        47,
    ),
    Mutant("lines may not end", "validators.js", r"|\r(?!\n)", r"|\r", "definitions", 48),
    Mutant(
        "names may repeat",
        "validators.js",
        "names.size === value.length",
        "true",
        "definitions",
        196,
    ),
    Mutant("k may be anything", "choice.js", "=== choices.length", "> 0", "definitions", 201),
    # --- pick and the mechanisms ---
    Mutant("pick draws below n each time", "coins.js", "below(n - i)", "below(n)", "coins", 278),
    Mutant(
        "pick does not swap",
        "coins.js",
        "([items[j], items[i]])",
        "([items[j], items[j]])",
        "coins",
        275,
    ),
    Mutant(
        "rounding goes to the nearest", "positions.js", "[rest, k - 1 - rest]", "[0, 1]", ALL, 4
    ),
    Mutant(
        "rounding is the wrong way round",
        "positions.js",
        "[rest, k - 1 - rest]",
        "[k - 1 - rest, rest]",
        ALL,
        1,
    ),
    Mutant("a window too few", "window.js", "m - w + 1, coins", "m - w, coins", ALL, 21),
    Mutant("the window is skipped wrongly", "window.js", "j < start", "j <= start", ALL, 687),
    Mutant(
        "the outer draw is left out",
        "window.js",
        "const j = coins.below(m - w);",
        "const j = inside ? 0 : coins.below(m - w);",
        ALL,
        1,
    ),
    Mutant(
        "inside and outside are drawn in the other order",
        "window.js",
        """const i = coins.below(w);
    const j = coins.below(m - w);""",
        """const j = coins.below(m - w);
    const i = coins.below(w);""",
        ALL,
        1,
    ),
    Mutant("a channel's zero passes", "channel.js", "Math.min(...row) >= 1", "true", ALL, 1203),
    Mutant("rows of any sum pass", "channel.js", "sum(row) === total", "true", ALL, 1205),
    Mutant("equal rows pass", "channel.js", "n > d", "n >= d", ALL, 1202),
    Mutant(
        "the last column counts alone",
        "channel.js",
        "if (n * worst[1] > worst[0] * d) worst",
        "worst",
        ALL,
        422,
    ),
    Mutant("no blanks", "ticks.js", "upTo(most - answer.length)", "upTo(0 * most)", ALL, 99),
    Mutant(
        "blanks are counted from the end",
        "ticks.js",
        "(blank) => k + blank",
        "(blank) => k + most - 1 - blank",
        ALL,
        99,
    ),
    Mutant(
        "sets without a tick weigh own",
        "ticks.js",
        "shared === 0 ? other : own",
        "shared === 0 ? own : other",
        ALL,
        99,
    ),
    Mutant(
        "only as much is picked as is used",
        "ticks.js",
        "coins.pick(k, size).slice(0, size - shared)",
        "coins.pick(k, size - shared)",
        ALL,
        99,
    ),
    Mutant("a flip keeps", "ticks.js", "1 - flip : flip", "flip : 1 - flip", ALL, 185),
    Mutant(
        "sampled options stay unsorted",
        "ticks.js",
        "ascending(coins.pick(k, s))",
        "coins.pick(k, s)",
        ALL,
        207,
    ),
    Mutant(
        "one tick's odds are all",
        "ticks.js",
        "pure([BigInt(own) ** BigInt(s), BigInt(other) ** BigInt(s)])",
        "pure([BigInt(own), BigInt(other)])",
        ALL,
        225,
    ),
    Mutant(
        "the options left over are many", "ticks.js", "Math.min(most, k - most)", "most", ALL, 265
    ),
    Mutant("the better ratio is the worse", "ticks.js", "a * d > c * b", "a * d < c * b", ALL, 622),
    Mutant(
        "the unticked have own",
        "ticks.js",
        "(option) ? own : other",
        "(option) ? other : own",
        ALL,
        247,
    ),
    Mutant("ticks may repeat", "ticks.js", "least = tick + 1", "least = tick", ALL, 164),
    Mutant("the game ends on even", "noise.js", "j % 2 === 1", "j % 2 === 0", ALL, 702),
    Mutant(
        "the game stops drawing",
        "noise.js",
        "[coins.choose([n, d - n]), coins.below(j)]",
        "[coins.choose([n, d - n]) || coins.below(j)]",
        ALL,
        702,
    ),
    Mutant("the whole part is left out", "noise.js", "whole > 0n", "whole > 1n", ALL, 851),
    Mutant("not in lowest terms", "noise.js", "parts(fraction(n, d))", "[n, d]", ALL, 863),
    Mutant("zero comes twice", "noise.js", "if (!negative) return 0;", "return 0;", ALL, 703),
    Mutant(
        "zero is returned before its sign is drawn",
        "noise.js",
        "const negative = coins.below(2) === 1;",
        "if (magnitude === 0) return 0;\n    const negative = coins.below(2) === 1;",
        ALL,
        761,
    ),
    Mutant(
        "the square root is rounded",
        "noise.js",
        "Math.floor(Math.sqrt(",
        "Math.round(Math.sqrt(",
        ALL,
        862,
    ),
    Mutant(
        "the square is a double",
        "noise.js",
        "(BigInt(Math.abs(y)) * Q * T - P) ** 2n",
        "BigInt((Math.abs(y) * q * t - p) ** 2)",
        ALL,
        1147,
    ),
    Mutant(
        "clamping forgets the top",
        "noise.js",
        "Math.min(Math.max(y, 0), k - 1)",
        "Math.max(y, 0)",
        ALL,
        818,
    ),
    Mutant("k steps apart", "noise.js", "BigInt(k - 1) * s", "BigInt(k) * s", ALL, 708),
    Mutant(
        "coordinates are blocks",
        "noise.js",
        "reach) * d + c",
        "reach) + c * d",
        ALL,
        862,
    ),
    Mutant(
        "noise goes anywhere",
        "noise.js",
        "Math.min(Math.max(y, -reach), k - 1 + reach)",
        "y",
        ALL,
        940,
    ),
    Mutant(
        "noise is as wide as it likes", "noise.js", "must(k + 2 * reach <=", "must(k <=", ALL, 1239
    ),
    Mutant("any sigma2 is kept", "noise.js", "must(kept,", "must(kept || true,", ALL, 1232),
    Mutant(
        "one number's noise is enough",
        "gaussian_delta.js",
        "if (d === 1n)",
        "if (d >= 1n)",
        ALL,
        1263,
    ),
    Mutant(
        "the tail starts one too late",
        "gaussian_delta.js",
        "2n * shift * e * q) + 1n",
        "2n * shift * e * q) + 2n",
        ALL,
        1260,
    ),
    Mutant("the parts stay unsorted", "vector.js", ".sort((a, b) => a - b)", "", ALL, 285),
    Mutant("parts are numbered first", "vector.js", "y * d + c", "c * d + y", ALL, 285),
    Mutant(
        "the first parts are the worst",
        "loss.js",
        "above(a, b) ? -1 : above(b, a) ? 1 : 0",
        "0",
        ALL,
        907,
    ),
    Mutant(
        "the smallest losses count", "loss.js", "above(a, b) ? -1", "above(b, a) ? -1", "totals", 5
    ),
    Mutant(
        "deltas are those of the largest odds",
        "loss.js",
        "const { delta } = most(({ delta: [n, d] }, { delta: [m, e] }) => n * e > m * d);",
        "const { delta } = most(above);",
        "totals",
        8,
    ),
    Mutant("all are asked", "loss.js", "slice(0, count)", "slice(0)", "totals", 4),
    Mutant(
        "exponents are not added",
        "loss.js",
        "exponent: plus(one.exponent, two.exponent)",
        "exponent: two.exponent",
        "totals",
        3,
    ),
    # --- the types of question ---
    Mutant(
        "a mean takes a coarse grid",
        "numbers.js",
        "exactly ? k === count : k <= count",
        "k <= count",
        "definitions",
        407,
    ),
    Mutant("any number of steps passes", "numbers.js", "n % d === 0n && ", "", "definitions", 401),
    Mutant("minus nothing is a number", "numbers.js", "(?!-0$)", "", "definitions", 388),
    Mutant(
        "grid need not fit",
        "numbers.js",
        "k === grid * grid",
        "true",
        "definitions",
        424,
    ),
    Mutant(
        "combinations need not fit",
        "numbers.js",
        "k === combinations",
        "true",
        "definitions",
        428,
    ),
    Mutant("scores may fall", "choices.js", "Math.min(...gaps) > 0", "true", "definitions", 382),
    Mutant(
        "scores of a mean may be uneven",
        "choices.js",
        'aim === "distribution" || even',
        "true",
        "definitions",
        386,
    ),
    Mutant("most need not fit", "choices.js", "question.most === most", "true", "definitions", 377),
    Mutant(
        "rows need not fit",
        "choice.js",
        'name !== "channel" || weights.length === k',
        "true",
        "definitions",
        373,
    ),
    Mutant(
        "any mechanism fits",
        "questions.js",
        "must(allowed,",
        "must(mechanism?.name,",
        "definitions",
        359,
    ),
    Mutant(
        "free text is one unknown type of many",
        "questions.js",
        "if (!FREE_TEXT",
        "if (true || !FREE_TEXT",
        "definitions",
        209,
    ),
    Mutant(
        "every unknown type is free text", "questions.js", "/^(text|", "/(text|", "definitions", 205
    ),
    Mutant(
        "an unknown type is not asked for its mechanism",
        "questions.js",
        "if (type === undefined) return must",
        "if (type === undefined) return; else if (!type) must",
        "definitions",
        99,
    ),
    Mutant(
        "conditions may look ahead",
        "conditions.js",
        "questions.slice(0, i)",
        "questions",
        "definitions",
        438,
    ),
    Mutant(
        "conditions may name anything",
        "conditions.js",
        "must(known,",
        "must(known || true,",
        "definitions",
        438,
    ),
    Mutant(
        "ask may be all",
        "conditions.js",
        "ask < questions.length",
        "ask <= questions.length",
        "definitions",
        431,
    ),
    Mutant(
        "ask goes with show_if",
        "conditions.js",
        "must(ask === undefined,",
        "must(true,",
        "definitions",
        436,
    ),
    Mutant(
        "halves go down",
        "numbers.js",
        "(2n * n + d) / (2n * d)",
        "(2n * n + d - 1n) / (2n * d)",
        "answers",
        1,
    ),
    Mutant("numbers are cut off", "numbers.js", "(2n * n + d) / (2n * d)", "n / d", "answers", 1),
    Mutant(
        "numbers may pass the end",
        "numbers.js",
        "Math.min(Math.max(nearest, 0), count - 1)",
        "Math.max(nearest, 0)",
        "answers",
        5,
    ),
    Mutant(
        "cells are rounded",
        "numbers.js",
        "return Math.floor((",
        "return Math.round((",
        "answers",
        25,
    ),
    Mutant(
        "the second number comes first",
        "numbers.js",
        "sum * grid + cell",
        "sum + grid * cell",
        "answers",
        1,
    ),
    Mutant(
        "ticks stay unsorted",
        "choices.js",
        "[...ticks].sort((a, b) => a - b)",
        "[...ticks]",
        "answers",
        1,
    ),
    Mutant("too many ticks pass", "choices.js", "ticks.size > most", "false", "answers", 48),
    Mutant(
        "a hidden answer counts",
        "conditions.js",
        "hidden.includes(earlier) ? HIDDEN :",
        "",
        "answers",
        71,
    ),
    Mutant(
        "several are hidden by a name",
        "conditions.js",
        'type === "select_multiple" ? [HIDDEN] : HIDDEN',
        "HIDDEN",
        "answers",
        74,
    ),
    Mutant(
        "deltas are forgotten",
        "ledger.js",
        "delta: parts(delta),",
        "delta: [0n, 1n],",
        "ledger",
        210,
    ),
    Mutant(
        "other surveys count",
        "ledger.js",
        "ledger.filter((each) => each.version === version)",
        "ledger",
        "ledger",
        211,
    ),
    Mutant(
        "a charge is free",
        "ledger.js",
        "const after = sum(before, asked);",
        "const after = before;",
        "ledger",
        244,
    ),
    Mutant("limits let half more pass", "ledger.js", "d * b)", "d * b / 2n)", "ledger", 244),
    Mutant("deltas have no limit", "ledger.js", "n * DELTA_LIMIT > d", "false", "ledger", 210),
    Mutant(
        "a delta may not reach its limit", "ledger.js", "LIMIT > d", "LIMIT >= d", "ledger", 207
    ),
    Mutant("no delta is refused", "ledger.js", "asked.delta[0] > 0n && ", "", "ledger", 213),
    Mutant(
        "long odds are rounded down", "ledger.js", "(n << 64n) + d - 1n", "n << 64n", "ledger", 242
    ),
    Mutant(
        "what is shown after a change stays",
        "memory.js",
        "after || changed.includes",
        "changed.includes",
        "ledger",
        221,
    ),
    Mutant(
        "repeats are charged",
        "memory.js",
        "after || changed.includes(question.name)",
        "true",
        "ledger",
        172,
    ),
    Mutant("later waves are charged", "memory.js", "!known.includes(name)", "true", "ledger", 276),
    Mutant(
        "a memo costs a report",
        "memory.js",
        "historyLoss(question.mechanism) ?? ",
        "",
        "ledger",
        264,
    ),
    Mutant("every panel is one", "memory.js", "${waves?.panel}", "play", "ledger", 301),
    Mutant(
        "a report may be another's", "memory.js", "report.survey === version &&", "", "ledger", 116
    ),
    Mutant(
        "any order of keys will do",
        "memory.js",
        "canonicalise(memory) === text",
        "true",
        "ledger",
        9,
    ),
    Mutant(
        "halves may be unreduced",
        "memory.js",
        "fraction(...parts(value)) === value",
        "true",
        "ledger",
        34,
    ),
    Mutant("any memo will do", "memoised.js", "must(known,", "must(true,", "waves", 121),
    Mutant("a memo of any size will do", "memoised.js", "kept.length === 1 &&", "", "waves", 17),
    Mutant(
        "a memo beyond the last", "memoised.js", "place < sizes(once).memos", "true", "waves", 123
    ),
    Mutant(
        "the memo is not given back",
        "mechanism.js",
        "{ report: reportFromMemo(mechanism, memo, coins), memo }",
        "{ report: reportFromMemo(mechanism, memo, coins), memo: [] }",
        "waves",
        1,
    ),
    Mutant(
        "the answer is kept as it is",
        "memoised.js",
        "family(memo(mechanism)).randomise(memo(mechanism), answer, coins)",
        "[answer]",
        "waves",
        334,
    ),
    Mutant(
        "the memo itself is sent",
        "memoised.js",
        "return subsetSelection.subset_selection.randomise(fresh(mechanism), place, coins)",
        "return [place]",
        "waves",
        1,
    ),
    Mutant(
        "a report from the memo as from an answer",
        "memoised.js",
        "randomise(fresh(mechanism), place, coins)",
        "randomise(once, place, coins)",
        "waves",
        43,
    ),
    Mutant(
        "one report claims what the history gives away",
        "memoised.js",
        "loss: ({ once }) => family(once).loss(once)",
        "loss: (mechanism) => family(memo(mechanism)).loss(memo(mechanism))",
        "waves",
        16,
    ),
    Mutant(
        "the history claims what one report gives away",
        "memoised.js",
        "history: (mechanism) => family(memo(mechanism)).loss(memo(mechanism))",
        "history: ({ once }) => family(once).loss(once)",
        "waves",
        16,
    ),
    Mutant("a memo names several", "memoised.js", "omega: 1, own", "omega: 2, own", "waves", 1),
    Mutant("other memos add nothing", "memoised.js", "BigInt(of) * ", "0n * ", "waves", 453),
    Mutant("the memo weighs less", "memoised.js", "least + step)", "step)", "waves", 22),
    Mutant(
        "a window counts one memo too many",
        "memoised.js",
        "Math.max(y - favoured, -1)",
        "Math.max(y - favoured, -2)",
        "waves",
        127,
    ),
    Mutant(
        "a window counts memos beyond the last",
        "memoised.js",
        "Math.min(y, memos - 1)",
        "y",
        "waves",
        127,
    ),
    Mutant("a window begins late", "memoised.js", "y >= kept &&", "y > kept &&", "waves", 127),
    Mutant(
        "a column is not taken off",
        "memoised.js",
        "- BigInt(other) * sum(column)",
        "",
        "waves",
        471,
    ),
    Mutant(
        "a memo may rule a report out",
        "memoised.js",
        "weights(mechanism, sizes(once).of)[0] >= 1n",
        "weights(mechanism, sizes(once).of)[0] >= 0n",
        "waves",
        453,
    ),
    Mutant("a row may rule one out", "memoised.js", "weight >= 1n", "weight >= -99n", "waves", 471),
    Mutant(
        "too few windows",
        "memoised.js",
        "Math.min(w, memos - 1)",
        "Math.min(w, memos)",
        "waves",
        466,
    ),
    Mutant(
        "blanks are no memos", "memoised.js", "memos: k + most, of", "memos: k, of", "waves", 480
    ),
    Mutant("ticks are kept in sets", "memoised.js", "size === 1", "true", "waves", 478),
    Mutant(
        "weights may be too large",
        "memoised.js",
        "must(whole <=",
        "must(true || whole <=",
        "waves",
        473,
    ),
    Mutant(
        "a thousand ticks and more",
        "memoised.js",
        'if (once.name === "set_response") subset',
        "if (false) subset",
        "waves",
        480,
    ),
    Mutant(
        "no history is needed",
        "claim.js",
        "must(stated ===",
        "must(true || stated ===",
        "waves",
        540,
    ),
    Mutant(
        "the history is not verified",
        "claim.js",
        "checkClaim(history, loss,",
        "checkClaim(history, pure([1n, 1n]),",
        "waves",
        516,
    ),
    Mutant(
        "waves may ask some",
        "survey.js",
        "waves === undefined || !conditional",
        "true || conditional",
        "waves",
        519,
    ),
    Mutant("memos without waves", "survey.js", "must(fits, ", "must(true, ", "waves", 516),
    Mutant("memos beside a count", "survey.js", " && waves.count === undefined", "", "waves", 539),
    Mutant(
        "any count of waves", "survey.js", "count: between(2, 100)", "count: anything", "waves", 529
    ),
    Mutant(
        "any number of recognised",
        "survey.js",
        "recognised: between(10, 1000)",
        "recognised: anything",
        "waves",
        534,
    ),
    Mutant(
        "any number of planned waves",
        "survey.js",
        "waves: between(2, 100)",
        "waves: anything",
        "waves",
        534,
    ),
    Mutant(
        "any number of people",
        "survey.js",
        "people: between(2, 1e6)",
        "people: anything",
        "waves",
        534,
    ),
    Mutant(
        "how many waves, said twice",
        "survey.js",
        "!waves || !waves.count || !waves.waves",
        "true",
        "waves",
        534,
    ),
    Mutant("counted waves cost one", "total.js", "ask * count,", "ask,", "waves", 566),
    Mutant("waves have no end", "memory.js", "if (sent >= most)", "if (false)", "ledger", 301),
    Mutant("one wave more", "memory.js", "if (sent >= most)", "if (sent > most)", "ledger", 301),
    Mutant("a later count counts", "memory.js", "Math.min(count, stated)", "stated", "ledger", 307),
    Mutant(
        "an earlier count counts", "memory.js", "Math.min(count, stated)", "count", "ledger", 305
    ),
    Mutant("waves are not counted", "memory.js", "sent: sent + 1", "sent: 1", "ledger", 299),
    Mutant("more sent than waves", "memory.js", "value.sent <= value.count", "true", "ledger", 140),
    Mutant("none of them sent", "memory.js", "value.sent >= 1 &&", "", "ledger", 139),
    # --- the author's signature ---
    Mutant(
        "any signature will do", "signing.js", "!(await signedBy(", "(await !signedBy(", SIGNED, 109
    ),
    Mutant("the signature is of the digest", "signing.js", "deniably survey 1\\n", "", SIGNED, 107),
    Mutant("the signature is of any digest", "signing.js", "1\\n${digest}", "1\\n", SIGNED, 107),
    Mutant("keys of any form", "signing.js", "/^[0-9a-f]{64}$/.test(author)", "true", SIGNED, 114),
    Mutant("keys go on", "signing.js", "{64}$/", "{64}/", SIGNED, 119),
    Mutant("keys begin before", "signing.js", "/^[0-9a-f]{64}", "/[0-9a-f]{64}", SIGNED, 120),
    Mutant(
        "signatures of any form",
        "signing.js",
        "/^[0-9a-f]{128}$/.test(signature)",
        "true",
        SIGNED,
        113,
    ),
    Mutant("signatures go on", "signing.js", "{128}$/", "{128}/", SIGNED, 117),
    Mutant(
        "signatures begin before", "signing.js", "/^[0-9a-f]{128}", "/[0-9a-f]{128}", SIGNED, 118
    ),
    Mutant("a key is no text", "signing.js", 'typeof author === "string" &&', "", LISTED, 83),
    Mutant(
        "a signature is no text", "signing.js", '&& typeof signature === "string"', "", LISTED, 84
    ),
    Mutant("half a fingerprint", "signing.js", "slice(0, 32)", "slice(0, 16)", SIGNED, 107),
    Mutant("the end of a fingerprint", "signing.js", "slice(0, 32)", "slice(32)", SIGNED, 107),
    Mutant(
        "what the browser says is not heard",
        "signing.js",
        "return await crypto.subtle.verify(",
        "return !!crypto.subtle.verify(",
        SIGNED,
        2,
    ),
    Mutant(
        "what the browser cannot tell is right",
        "signing.js",
        "return own.verify(key, signature, message)",
        "return true",
        SIGNED,
        46,
    ),
    # --- Ed25519 ---
    Mutant("S may be too large", "ed25519.js", " || s >= ORDER", "", SIGNED, 3),
    Mutant("S may be the order", "ed25519.js", "s >= ORDER", "s > ORDER", SIGNED, 42),
    Mutant("a key of any length", "ed25519.js", "key.length !== 32 || ", "", SIGNED, 46),
    Mutant(
        "a signature of any length", "ed25519.js", " || signature.length !== 64", "", SIGNED, 43
    ),
    Mutant("a key that is none", "ed25519.js", "author === undefined || ", "", SIGNED, 41),
    Mutant("any R will do", "ed25519.js", "=== number(r)", "=== number(r) || true", SIGNED, 2),
    Mutant(
        "the sign of R does not count",
        "ed25519.js",
        "| ((mod(x * inverse) & 1n) << 255n)",
        "| (0n * x)",
        SIGNED,
        10,
    ),
    Mutant("A is added", "ed25519.js", "[mod(-x), y, z, mod(-t)]", "[x, y, z, t]", SIGNED, 1),
    Mutant("R is not hashed", "ed25519.js", "[...r, ...key, ", "[...key, ", SIGNED, 1),
    Mutant("the key is not hashed", "ed25519.js", "[...r, ...key, ", "[...r, ", SIGNED, 1),
    Mutant("the message is not hashed", "ed25519.js", ", ...message]", "]", SIGNED, 2),
    Mutant("an encoding above P", "ed25519.js", "if (y >= P) return undefined;", "", SIGNED, 69),
    Mutant("an encoding of P", "ed25519.js", "y >= P", "y > P", SIGNED, 69),
    Mutant(
        "what is not on the curve",
        "ed25519.js",
        "if (mod(x * x) !== square || (",
        "if ((",
        SIGNED,
        63,
    ),
    Mutant("nought with a sign", "ed25519.js", " || (x === 0n && sign === 1n)", "", SIGNED, 61),
    Mutant(
        "half of the roots",
        "ed25519.js",
        "if (mod(x * x) !== square) x = mod(x * ROOT);",
        "",
        SIGNED,
        1,
    ),
    Mutant(
        "the sign of the key does not count", "ed25519.js", "!== sign) x", "!== 0n) x", SIGNED, 49
    ),
    # --- the register ---
    Mutant("entries of any number", "past.js", "entry.number === i + 1 &&", "", LISTED, 42),
    Mutant("the chain is not checked", "past.js", " && entry.previous === last", "", LISTED, 35),
    Mutant("any head will do", "past.js", "last !== document.head", "false", LISTED, 30),
    Mutant(
        "the past is rewritten",
        "past.js",
        "(count ? hashes[count - 1] : NOTHING) !== head",
        "false",
        LISTED,
        48,
    ),
    Mutant("what is closed counts", "past.js", 'event === "published" &&', "", LISTED, 7),
    Mutant("any survey will do", "past.js", " && survey === name", "", LISTED, 89),
    Mutant("two of one name", "past.js", "matches.length > 1", "false", LISTED, 56),
    Mutant("no survey at all", "past.js", "matches.length === 0", "false", LISTED, 54),
    Mutant(
        "no digest is compared",
        "register.js",
        "entry.digest !== version",
        "(entry.digest = version) !== version",
        LISTED,
        74,
    ),
    Mutant("any day will do", "register.js", "if (!dated)", "if (!dated && false)", LISTED, 66),
    Mutant("a day goes on", "register.js", "\\d{2}$/", "\\d{2}/", LISTED, 67),
    Mutant("a day begins before", "register.js", "/^\\d{4}", "/\\d{4}", LISTED, 69),
    Mutant("a day is no text", "register.js", 'typeof entry.day === "string" &&', "", LISTED, 70),
    Mutant("members more", "register.js", "{ ...own, ...entry }", "own", LISTED, 64),
    Mutant("members less", "register.js", "{ ...own, ...entry }", "entry", LISTED, 105),
    Mutant(
        "nothing is compared", "register.js", "written(own) !== written(entry)", "false", LISTED, 93
    ),
    Mutant(
        "any epsilon",
        "register.js",
        "epsilon: epsilon(all)",
        f"epsilon: {TOLD}.epsilon",
        LISTED,
        101,
    ),
    Mutant(
        "any delta",
        "register.js",
        "delta: asDecimal(all.delta)",
        f"delta: {TOLD}.delta",
        LISTED,
        63,
    ),
    Mutant(
        "any mechanism",
        "register.js",
        "mechanism: mechanism.name",
        f"mechanism: {TOLD}.questions?.find((one) => one.name === question)?.mechanism ?? ''",
        LISTED,
        102,
    ),
    Mutant(
        "any epsilon of a question",
        "register.js",
        "epsilon: epsilon(loss(mechanism))",
        f"epsilon: {TOLD}.questions?.find((one) => one.name === question)?.epsilon ?? ''",
        LISTED,
        78,
    ),
    Mutant(
        "any history",
        "register.js",
        "{ history: epsilon(totalHistory(definition)) }",
        f"'history' in {TOLD} && {{ history: {TOLD}.history }}",
        LISTED,
        93,
    ),
    Mutant(
        "the history is one wave's",
        "register.js",
        "epsilon(totalHistory(definition))",
        "epsilon(all)",
        LISTED,
        104,
    ),
    Mutant(
        "a history without waves",
        "register.js",
        "...(waves && {",
        "...(true && {",
        LISTED,
        65,
    ),
    Mutant(
        "no history with waves",
        "register.js",
        "...(waves && {",
        "...(false && {",
        LISTED,
        105,
    ),
    Mutant("epsilon is rounded down", "register.js", "String(low)", "String(low - 1n)", LISTED, 89),
    Mutant(
        "the signature is not verified",
        "register.js",
        "await checkSignature(version, entry.author, entry.signature);",
        "",
        LISTED,
        79,
    ),
    Mutant("any author will do", "register.js", "authors.length > 0 &&", "false &&", LISTED, 89),
    Mutant("nobody is known", "register.js", "!authors.includes(entry.author) &&", "", LISTED, 87),
    Mutant(
        "any author is the accepted one",
        "register.js",
        "accepted !== print",
        "!accepted",
        LISTED,
        91,
    ),
    Mutant("nobody can be accepted", "register.js", " && accepted !== print", "", LISTED, 90),
    Mutant("the longer register is forgotten", "register.js", "(newer && ", "(true && ", PROVEN, 1),
    Mutant(
        "a register is not renewed",
        "register.js",
        "before.count <= seen.count",
        "before.count < seen.count",
        PROVEN,
        1,
    ),
    Mutant(
        "the author is not kept",
        "register.js",
        "new Set([...authors, author])",
        "authors",
        PROVEN,
        1,
    ),
    Mutant(
        "anybody signs the head",
        "register.js",
        "if (!(await signedBy(`${key}`, `${signature}`,",
        "if (false && !(await signedBy(`${key}`, `${signature}`,",
        PROVEN,
        43,
    ),
    Mutant(
        "blocks of any number",
        "register.js",
        "blocks.length === Math.floor(count / BLOCK) &&",
        "",
        PROVEN,
        58,
    ),
    Mutant(
        "recent entries of any number",
        "register.js",
        "first + recent.length === count &&",
        "",
        PROVEN,
        51,
    ),
    Mutant(
        "any last entry",
        "register.js",
        "(recent.at(-1) ?? NOTHING) === head.head &&",
        "",
        PROVEN,
        54,
    ),
    Mutant(
        "any last block",
        "register.js",
        "(!end || (await root(recent.slice(0, end))) === blocks.at(-1)) &&",
        "",
        PROVEN,
        107,
    ),
    Mutant(
        "any log",
        "register.js",
        "(await logRoot(blocks, recent.slice(end))) === log",
        "true",
        PROVEN,
        53,
    ),
    Mutant(
        "a number that is a text",
        "register.js",
        'integer(number, "number");',
        "",
        PROVEN,
        66,
    ),
    Mutant(
        "a path of any length",
        "register.js",
        "log_path.length === (old ? 6 : 0) &&",
        "",
        PROVEN,
        69,
    ),
    Mutant(
        "the entry is not in the log",
        "register.js",
        "(await folded(hash, log_path, blockSides(number))) === place &&",
        "",
        PROVEN,
        78,
    ),
    Mutant(
        "the entry is not in the map",
        "register.js",
        "(await folded(hash, map_path, await nameSides(name))) === map",
        "true",
        PROVEN,
        71,
    ),
    Mutant(
        "devices of before are believed",
        "register.js",
        "!before.log || before.key !== head.key ||",
        "",
        PROVEN,
        159,
    ),
    Mutant("any key", "register.js", "before.key !== head.key ||", "false ||", PROVEN, 168),
    Mutant("long ago is not asked for", "register.js", "|| (rest && from < 0)", "", PROVEN, 134),
    Mutant(
        "long ago is always asked for", "register.js", "(rest && from < 0)", "from < 0", PROVEN, 108
    ),
    Mutant(
        "the past of a listing is rewritten",
        "register.js",
        "log !== before.log ||",
        "false ||",
        PROVEN,
        117,
    ),
    Mutant(
        "another map of the same",
        "register.js",
        "(count === head.count && before.map !== head.map)",
        "false",
        PROVEN,
        132,
    ),
    Mutant(
        "no map is as before",
        "register.js",
        "(count === head.count && before",
        "(before",
        PROVEN,
        8,
    ),
    Mutant(
        "a fault of the past is not told",
        "register.js",
        "if (why) throw new Refused(why);",
        "",
        PROVEN,
        138,
    ),
    Mutant(
        "any hashes make the log",
        "past.js",
        "!== blocks[block]",
        "!== blocks[block] && false",
        PROVEN,
        139,
    ),
    Mutant(
        "the past long ago is rewritten", "past.js", "if (log !== seen)", "if (false)", PROVEN, 138
    ),
    Mutant(
        "the register is read, not the head",
        "past.js",
        "(await root(hashes.slice(0, head.count))) !== head.log",
        "false",
        PROVEN,
        164,
    ),
    Mutant(
        "twice in the whole register", "past.js", "find(entries, entry.survey);", "", PROVEN, 166
    ),
    Mutant(
        "the sides of a fold are exchanged",
        "trees.js",
        'sides[i] === "1"',
        'sides[i] === "0"',
        PROVEN,
        1,
    ),
    Mutant(
        "what is left over is doubled",
        "trees.js",
        'pair.length > 1 ? await digest(pair) : pair.join("")',
        "await digest(pair)",
        PROVEN,
        1,
    ),
    Mutant("any key", "register.js", "checkedKey(invitations)", "invitations", LISTED, 114),
    Mutant(
        "no key of invitations", "register.js", "definition.invited &&", "false &&", LISTED, 121
    ),
    Mutant(
        "a key without invitations",
        "register.js",
        "definition.invited &&",
        "invitations &&",
        LISTED,
        121,
    ),
    Mutant(
        "the key is not told", "register.js", "...(invitations && { invitations })", "", LISTED, 106
    ),
    Mutant(
        "invited is anything",
        "survey.js",
        "invited: either(true),",
        "invited: anything,",
        "definitions",
        85,
    ),
    Mutant(
        "part is anything",
        "survey.js",
        "part: either(true),",
        "part: anything,",
        "definitions",
        496,
    ),
    Mutant("one question has a part", "survey.js", "ask > 1 && ", "", "definitions", 494),
    Mutant("any number of strata", "strata.js", "&& count <= MOST", "", "strata", 14),
    Mutant(
        "strata of one value",
        "strata.js",
        "SURVEY_NAME, 2, MOST",
        "SURVEY_NAME, 1, MOST",
        "strata",
        10,
    ),
    Mutant("a value twice", "strata.js", "new Set(values).size", "values.length", "strata", 12),
    Mutant("any key of strata", "strata.js", "SURVEY_NAME(key, path);", "", "strata", 16),
    Mutant("a link's key twice", "strata.js", "&& more.length === 0", "", "strata", 67),
    Mutant("any value in a link", "strata.js", "values.includes(value) &&", "", "strata", 61),
    Mutant("any stratum in a report", "strata.js", "must(fits && ", "must(", "strata", 94),
    Mutant(
        "a stratum with a key more",
        "strata.js",
        "fits && Object.keys(stratum).length === keys.length",
        "fits",
        "strata",
        96,
    ),
    Mutant("a report without its stratum", "strata.js", ": stratum };", ": {} };", "strata", 88),
    Mutant(
        "any stratum in the memory",
        "memory.js",
        "strata: mapOf(SURVEY_NAME, SURVEY_NAME)",
        "strata: mapOf(text, text)",
        "strata",
        150,
    ),
    Mutant(
        "a charge counts for 364 days",
        "ledger.js",
        "shifted(last, -364)",
        "shifted(last, -363)",
        "ledger",
        335,
    ),
    Mutant(
        "a charge counts for 366 days",
        "ledger.js",
        "shifted(last, -364)",
        "shifted(last, -365)",
        "ledger",
        336,
    ),
    Mutant(
        "an author's charges count for good",
        "ledger.js",
        " && each.day >= since.author",
        "",
        "ledger",
        336,
    ),
    Mutant(
        "all charges count for good", "ledger.js", "day >= since.overall", "true", "ledger", 355
    ),
    Mutant(
        "the clock alone decides",
        "ledger.js",
        "[day, ...seen].sort()",
        "[day].sort()",
        "ledger",
        338,
    ),
    Mutant(
        "the registers alone decide",
        "ledger.js",
        "[day, ...seen].sort()",
        "[...seen].sort()",
        "ledger",
        337,
    ),
    Mutant(
        "the latest register decides",
        "ledger.js",
        "[day, ...seen].sort()",
        "[[...seen].sort().at(-1) ?? day, day].sort()",
        "ledger",
        343,
    ),
    Mutant("no register has to agree", "ledger.js", "seen.length && ", "", "ledger", 349),
    Mutant(
        "a register without a day agrees", "ledger.js", "&& seen.every(Boolean) ", "", "ledger", 345
    ),
    Mutant(
        "any register frees an author",
        "memory.js",
        "author === undefined || keys.includes(author)",
        "true",
        "ledger",
        346,
    ),
    Mutant(
        "an author's register frees all",
        "memory.js",
        "overall: firstDay(day, seenDays(memory))",
        "overall: firstDay(day, seenDays(memory, author))",
        "ledger",
        365,
    ),
    Mutant(
        "the clock alone dates a charge",
        "memory.js",
        "first > day ? first : day",
        "day",
        "ledger",
        375,
    ),
    Mutant(
        "it fits a day too early",
        "ledger.js",
        "oldest && shifted(oldest, 365)",
        "oldest && shifted(oldest, 364)",
        "ledger",
        335,
    ),
    Mutant(
        "it fits when all has left",
        "ledger.js",
        "high = middle;",
        "low = middle + 1;",
        "ledger",
        378,
    ),
    Mutant(
        "it fits one day too late",
        "ledger.js",
        "low = middle + 1;",
        "low = middle + 2;",
        "ledger",
        382,
    ),
    Mutant(
        "a register's day may be any text",
        "validators.js",
        "?.slice(0, 10) === value",
        " !== undefined",
        "ledger",
        319,
    ),
    Mutant("trades of nothing", "memory.js", "Object.keys(value).length > 0", "true", "ledger", 54),
    Mutant("short tickets", "memory.js", "NUMBER(288, 544)", "NUMBER(1, 544)", "ledger", 67),
    Mutant("long tickets", "memory.js", "NUMBER(288, 544)", "NUMBER(288, 1000)", "ledger", 68),
    Mutant("any code", "memory.js", "/^[0-9A-HJKMNP-TV-Y]{18}$/", "/^/", "ledger", 86),
    Mutant("one square less", "blind_rsa.js", "squared < 16", "squared < 15", BLIND, 1),
    Mutant("one square more", "blind_rsa.js", "squared < 16", "squared < 17", BLIND, 1),
    Mutant("an even exponent", "blind_rsa.js", "(result * base) % modulus", "result", BLIND, 1),
    Mutant("it is not blinded", "blind_rsa.js", "(number * factor) % modulus", "number", BLIND, 1),
    Mutant(
        "blinded with the inverse",
        "blind_rsa.js",
        "power(inverted(back, modulus) ?? 0n, modulus)",
        "power(back, modulus)",
        BLIND,
        1,
    ),
    Mutant(
        "the blinding stays on",
        "blind_rsa.js",
        "(read(blindSignature) * read(inverse)) % modulus",
        "read(blindSignature) % modulus",
        BLIND,
        42,
    ),
    Mutant(
        "a signature is not verified",
        "blind_rsa.js",
        "  await verify(key, prepared, signature, saltLength);\n",
        "",
        BLIND,
        40,
    ),
    Mutant("any signature is good", "blind_rsa.js", "if (!good)", "if (false)", BLIND, 40),
    Mutant("any number will do", "blind_rsa.js", " && text < key", "", BLIND, 46),
    Mutant("any length will do", "blind_rsa.js", "text.length === key.length && ", "", BLIND, 48),
    Mutant("an even key", "validators.js", "[13579bdf]$/", "[0-9a-f]$/", BLIND, 88),
    Mutant("a modulus of any length", "validators.js", "{255,511}", "*", BLIND, 91),
    Mutant("a shorter key", "validators.js", "{255,511}", "{254,511}", BLIND, 91),
    Mutant("a key that begins with 0", "validators.js", "/^[89a-f]", "/^[0-9a-f]", BLIND, 89),
    Mutant("a key goes on", "validators.js", "[13579bdf]$/", "[13579bdf]/", BLIND, 93),
    Mutant(
        "the salt has its usual length",
        "blind_rsa.js",
        ", saltLength };",
        ", saltLength: 48 };",
        BLIND,
        66,
    ),
    Mutant("the salt is left out", "blind_rsa.js", "+ salt);", ");", BLIND, 1),
    Mutant(
        "the message is not hashed first",
        "blind_rsa.js",
        "(await sha384(message))",
        "message",
        BLIND,
        1,
    ),
    Mutant("the counter begins at 1", "blind_rsa.js", "let count = 0;", "let count = 1;", BLIND, 1),
    Mutant(
        "the counter has two bytes",
        "blind_rsa.js",
        'padStart(8, "0")',
        'padStart(4, "0")',
        BLIND,
        1,
    ),
    Mutant("another last byte", "blind_rsa.js", "0xbcn", "0xbdn", BLIND, 1),
    Mutant(
        "a bit too many",
        "blind_rsa.js",
        "asUintN(bits, whole)",
        "asUintN(bits + 1, whole)",
        BLIND,
        1,
    ),
    Mutant(
        "noughts are dropped",
        "blind_rsa.js",
        '.padStart(key.length, "0");\n  await',
        ";\n  await",
        BLIND,
        37,
    ),
    Mutant("weights begin at 0", "codes.js", "(i + 1) * digit", "i * digit", "codes", 27),
    Mutant("all weights are one", "codes.js", "(i + 1) * digit", "digit", "codes", 42),
    Mutant("no sum", "codes.js", " && adds(code)", "", "codes", 19),
    Mutant("the last is in the sum", "codes.js", ".slice(0, -1)", "", "codes", 22),
    Mutant("small letters are refused", "codes.js", ".toUpperCase()", "", "codes", 12),
    Mutant("U is unlike V", "codes.js", "[OILZU]", "[OILZ]", "codes", 18),
    Mutant(
        "any letter is a letter", "codes.js", "!/^[0-9A-Za-z]*$/.test(last)", "false", "codes", 53
    ),
    Mutant("19 characters", "codes.js", "code.length === LENGTH && ", "", "codes", 46),
    Mutant("links are not read", "codes.js", 'text.lastIndexOf("#") + 1', "0", "codes", 14),
    Mutant("x may be too large", "mixer.js", "x < P && ", "", "definitions", 593),
    Mutant("y may be too large", "mixer.js", "y < P && ", "", "definitions", 594),
    Mutant(
        "no point is a key",
        "mixer.js",
        " && (y * y - x ** 3n + 3n * x - B) % P === 0n",
        "",
        "definitions",
        591,
    ),
    Mutant("one key for both", "mixer.js", "mixer.key !== mixer.open", "true", "definitions", 609),
    Mutant(
        "waves go with a mixer", "mixer.js", '"waves", "strata"', '"strata"', "definitions", 634
    ),
    Mutant(
        "strata go with a mixer", "mixer.js", '"waves", "strata"', '"waves"', "definitions", 635
    ),
    Mutant(
        "a part goes with a mixer", "mixer.js", '"part", "invited"', '"invited"', "definitions", 636
    ),
    Mutant(
        "invitations go with a mixer", "mixer.js", '"part", "invited"', '"part"', "definitions", 637
    ),
    Mutant("ask goes with a mixer", "mixer.js", '"ask", ', "", "definitions", 638),
    Mutant(
        "results before the batch", "mixer.js", "!results.while_open", "true", "definitions", 640
    ),
    Mutant(
        "public reports of a mixer",
        "mixer.js",
        'results.reports !== "public"',
        "true",
        "definitions",
        641,
    ),
    Mutant("a delta goes with a mixer", "mixer.js", "delta[0] === 0n", "true", "definitions", 642),
    Mutant("any local odds", "mixer.js", "n <= most", "true", "definitions", 643),
    Mutant("20 is above 20", "mixer.js", "n <= most", "n < most", "definitions", 549),
    Mutant(
        "any local exponent", "mixer.js", "!atMostExp([most, n], a, b)", "true", "definitions", 645
    ),
    Mutant(
        "21 is not above 20", "mixer.js", "MOST_ODDS = 20n", "MOST_ODDS = 21n", "definitions", 644
    ),
    Mutant(
        "a byte less for a report",
        "mixer.js",
        "136 + name.length",
        "135 + name.length",
        "definitions",
        647,
    ),
    Mutant("omega does not count", "mixer.js", "omega ?? size", "size", "definitions", 649),
    Mutant(
        "size does not count", "mixer.js", "omega ?? size ?? s", "omega ?? s", "definitions", 651
    ),
    Mutant("s does not count", "mixer.js", "size ?? s ??", "size ??", "definitions", 653),
    Mutant("unary has one number", "mixer.js", 'name === "unary" ? k : 1', "1", "definitions", 655),
    Mutant(
        "the shortest report has to fit",
        "mixer.js",
        "Math.max(...longest)",
        "Math.min(...longest)",
        "definitions",
        648,
    ),
    Mutant(
        "envelopes a byte longer",
        "mixer.js",
        "whole < 1 << 16",
        "whole <= 1 << 16",
        "definitions",
        663,
    ),
    Mutant(
        "an envelope is shorter",
        "mixer.js",
        "mixer.length + 81",
        "mixer.length + 80",
        "definitions",
        664,
    ),
    Mutant("a claim of nearly nothing", "mixer.js", "100n * n >= d && ", "", "definitions", 621),
    Mutant("a claim of anything", "mixer.js", " && n <= 10n * d", "", "definitions", 622),
    Mutant("a delta that is no part", "mixer.js", "e % m === 0n && ", "", "definitions", 628),
    Mutant("any delta of a claim", "mixer.js", " && e >= 10000n * m", "", "definitions", 627),
    Mutant(
        "a mixer named by a number", "mixer.js", "by: text,", "by: integer,", "definitions", 519
    ),
    Mutant("a mixer anywhere", "mixer.js", "[a-z0-9.-]{1,253}", "[^/]{1,253}", "definitions", 571),
    Mutant("a mixer at port 0", "mixer.js", "[1-9][0-9]{0,4}", "[0-9]{1,5}", "definitions", 576),
    Mutant(
        "a mixer without TLS",
        "mixer.js",
        r"http:\/\/(localhost|",
        r"http:\/\/(.*|",
        "definitions",
        565,
    ),
    Mutant("no blanks", "mixer.js", "between(1, 20_000)", "between(0, 20_000)", "definitions", 612),
    Mutant(
        "too many blanks",
        "mixer.js",
        "between(1, 20_000)",
        "between(1, 30_000)",
        "definitions",
        614,
    ),
    Mutant("any signing key", "mixer.js", "signing: HASH", "signing: text", "definitions", 610),
    Mutant(
        "a mixer goes with anything", "survey.js", "checkMixer?.(survey);", "", "definitions", 609
    ),
    Mutant(
        "the claim is in each entry", "through_mixer.js", 'i ? ["0", "0"] : ', "", "ledger", 499
    ),
    Mutant(
        "what was sealed is charged again",
        "through_mixer.js",
        "memory.reports[version] ? [] : definition.questions",
        "definition.questions",
        "ledger",
        501,
    ),
    Mutant(
        "what was sealed changes", "through_mixer.js", "changed.length > 0", "false", "ledger", 504
    ),
    Mutant(
        "a claim counts nowhere",
        "ledger.js",
        "(!together && entry.mixed) || entry",
        "entry",
        "ledger",
        499,
    ),
    Mutant(
        "a claim counts everywhere",
        "ledger.js",
        "!together && entry.mixed",
        "entry.mixed",
        "ledger",
        499,
    ),
    Mutant(
        "together nothing is refused", "ledger.js", "of [false, true]", "of [false]", "ledger", 523
    ),
    Mutant(
        "together alone is refused", "ledger.js", "of [false, true]", "of [true]", "ledger", 506
    ),
    Mutant(
        "together the owner's limits",
        "ledger.js",
        "Math.max(+limits[scope], TOGETHER[scope])",
        "limits[scope]",
        "ledger",
        521,
    ),
    Mutant(
        "together no owner's limit",
        "ledger.js",
        "Math.max(+limits[scope], TOGETHER[scope])",
        "TOGETHER[scope]",
        "ledger",
        531,
    ),
    Mutant(
        "a survey takes more together", "ledger.js", "{ survey: 25,", "{ survey: 28,", "ledger", 537
    ),
    Mutant(
        "an author takes more together", "ledger.js", "author: 50,", "author: 52,", "ledger", 523
    ),
    Mutant("all take more together", "ledger.js", "overall: 64 }", "overall: 66 }", "ledger", 526),
    Mutant(
        "a claim is of no epsilon",
        "ledger.js",
        "exponent = epsilon,",
        'exponent = "0",',
        "ledger",
        499,
    ),
    Mutant("any key of a mixer", "memory.js", "mixer: HASH", "mixer: text", "ledger", 496),
    Mutant(
        "a claim of any delta",
        "memory.js",
        "[value, { ...value, ...value.mixed }]",
        "[value]",
        "ledger",
        493,
    ),
    Mutant(
        "envelopes in any order",
        "memory.js",
        "[...new Set(inner)].sort()",
        "[...new Set(inner)]",
        "ledger",
        462,
    ),
    Mutant(
        "an envelope twice",
        "memory.js",
        "[...new Set(inner)].sort()",
        "[...inner].sort()",
        "ledger",
        463,
    ),
    Mutant(
        "an envelope and its report",
        "memory.js",
        "text === undefined && `${inner}`",
        "`${inner}`",
        "ledger",
        475,
    ),
    Mutant(
        "a report with hashes",
        "memory.js",
        "sealed ? ordered : !inner",
        "sealed ? ordered : true",
        "ledger",
        477,
    ),
    Mutant(
        "too many envelopes", "memory.js", "list(HASH, 1, 100)", "list(HASH, 1, 101)", "ledger", 460
    ),
    Mutant(
        "no claim is told",
        "register.js",
        "...(mixer && { mixed: mixer.claim, mixer: mixer.signing }),",
        "",
        LISTED,
        133,
    ),
    Mutant("no mixer is told", "register.js", ", mixer: mixer.signing", "", LISTED, 133),
    Mutant("another KEM", "envelope.js", "[0, 0x10])", "[0, 0x20])", SEALED, 1),
    Mutant(
        "another AEAD", "envelope.js", "[0, 0x10, 0, 1, 0, 1]", "[0, 0x10, 0, 1, 0, 2]", SEALED, 1
    ),
    Mutant("another mode", "envelope.js", "[0], // base mode", "[1],", SEALED, 1),
    Mutant("any encoding of a point", "envelope.js", "!POINT.test(key)", "false", SEALED, 14),
    Mutant(
        "no point at all",
        "envelope.js",
        ", P256, false, []).catch(",
        ", P256, false, []).then(",
        SEALED,
        9,
    ),
    Mutant(
        "the info is left out",
        "envelope.js",
        '"info_hash", joined(info)',
        '"info_hash", NOTHING',
        SEALED,
        1,
    ),
    Mutant(
        "hashes are swapped",
        "envelope.js",
        '"psk_id_hash", NOTHING',
        '"info_hash", joined(info)',
        SEALED,
        1,
    ),
    Mutant("the receiver is not hashed", "envelope.js", "joined(enc, receiver)", "enc", SEALED, 1),
    Mutant(
        "the sender is not hashed", "envelope.js", "joined(enc, receiver)", "receiver", SEALED, 1
    ),
    Mutant(
        "salt and secret are swapped",
        "envelope.js",
        '"secret", NOTHING',
        '"secret", shared',
        SEALED,
        1,
    ),
    Mutant("a block counts from 0", "envelope.js", "info, [1])", "info, [0])", SEALED, 1),
    Mutant("no label of HPKE", "envelope.js", '[0, length], "HPKE-v1"', "[0, length]", SEALED, 1),
    Mutant(
        "report and mix are one", "envelope.js", "deniably mix 1", "deniably report 1", SEALED, 76
    ),
    Mutant(
        "no line feed at the end",
        "envelope.js",
        "`deniably report 1\\n${digest}\\n`",
        "`deniably report 1\\n${digest}`",
        SEALED,
        22,
    ),
    Mutant(
        "the length is little-endian",
        "envelope.js",
        "[text.length >> 8, text.length & 0xff]",
        "[text.length & 0xff, text.length >> 8]",
        SEALED,
        22,
    ),
    Mutant(
        "any text has a length",
        "envelope.js",
        "Math.min(length - PREFIX, LONGEST)",
        "length - PREFIX",
        SEALED,
        34,
    ),
    Mutant(
        "a long text is cut",
        "envelope.js",
        "text.length > Math.min",
        "text.length < Math.min",
        SEALED,
        22,
    ),
    Mutant("no spaces for a code", "envelope.js", "code.padEnd(CODE)", "code", SEALED, 76),
    Mutant(
        "the code comes last",
        "envelope.js",
        "joined(code.padEnd(CODE), ...inner)",
        "joined(...inner, code.padEnd(CODE))",
        SEALED,
        76,
    ),
)


@pytest.mark.parametrize("name", sorted({mutant.noticed_by for mutant in MUTANTS}))
@pytest.mark.thorough
def test_every_planted_mistake_fails_the_vectors(name: str, modules: Modules) -> None:
    unnoticed = []
    for mutant in MUTANTS:
        if mutant.noticed_by == name:
            with modules.planted(mutant.module, (mutant.text, mutant.replacement)) as folder:
                file = VECTORS / f"{name}.json"
                _, failures = modules.vectors(file, folder, most=1, first=mutant.case)
            if [failure[:5] for failure in failures] != ["case "]:
                unnoticed.append(mutant.mistake)

    assert unnoticed == []


# --- report sets, in Python ----------------------------------------------------------------------


@dataclass(frozen=True)
class Slip:
    """A text of a function, what is put in its place, and the case of a vector that notices."""

    mistake: str
    function: Callable[..., Any]
    text: str
    replacement: str
    noticed_by: str


SLIPS = (
    Slip(
        "the two cells of a sampled tick are swapped",
        question_counters.SomeColumns.tally,
        "2 * at + value if",
        "2 * at + 1 - value if",
        "some of the options",
    ),
    Slip(
        "yes and no are swapped in a column",
        report_columns._fill,
        "numbers % 2, 0)",
        "1 - numbers % 2, 0)",
        "some of the options",
    ),
    Slip(
        "the cells of a vector are blocks",
        question_counters.SomeColumns.tally,
        "width * value + at",
        "width * at + value",
        "some numbers of a vector",
    ),
    Slip(
        "who was not asked said 0",
        report_columns._fill,
        "np.where(asked, only, 0), asked)",
        "np.where(asked, only, 0), np.ones_like(asked))",
        "some of the questions are asked",
    ),
    Slip(
        "rows stay as they came",
        ordering.in_order,
        "np.sort(texts)",
        "texts",
        "one number of finitely many",
    ),
    Slip(
        "capitals make another name",
        report_columns._unique,
        ".casefold()",
        "",
        "names that collide",
    ),
    Slip(
        "strata may have any value",
        report_columns.StratumColumn.reach.fget,  # type: ignore[attr-defined]
        "len(self.categories) - 1",
        "100",
        "strata that there are not",
    ),
    Slip(
        "a row is left out once for each of its faults",
        tallying.tally_set,
        "sum(wrong.values())",
        "sum(unfit.values())",
        "whatever does not fit",
    ),
    Slip(
        "the numbers of strata count up by another key first",
        tallying._Reading.seen,
        "each.get(key, {})",
        "each.get(key[::-1], {})",
        "every stratum may be seen",
    ),
    Slip(
        "what does not fit stays in its stratum",
        tallying._Reading.groups,
        "(*range(self.width), *places)",
        "(*range(self.width)[::-1], *places)",
        "every stratum may be seen",
    ),
    Slip(
        "each stratum is counted, however few are in it",
        tallying.may_be_seen,
        "survey.results.minimum",
        "0",
        "a stratum has too few",
    ),
    Slip(
        "a stratum needs reports to one question alone",
        tallying.may_be_seen,
        "in stratum.tallies.values()",
        "in [*stratum.tallies.values()][:1]",
        "a stratum has too few to one question",
    ),
    Slip(
        "rows and columns of a pair are swapped",
        tally_file._triples,
        "[row, column, count]",
        "[column, row, count]",
        "some of the questions are asked",
    ),
)


@pytest.mark.parametrize("slip", SLIPS, ids=[slip.mistake for slip in SLIPS])
def test_every_planted_mistake_in_report_sets_fails_a_vector(
    slip: Slip, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = json.loads((VECTORS / "report_sets.json").read_text("utf-8"))
    [(group, case)] = [
        (group, case)
        for group in file["groups"]
        for case in group["tests"]
        if case["comment"] == slip.noticed_by
    ]
    check_report_set(group, case)

    monkeypatch.setattr(slip.function, "__code__", _changed(slip).__code__)

    with pytest.raises((AssertionError, NoExport)):
        check_report_set(group, case)


def _changed(slip: Slip) -> Any:
    source = textwrap.dedent(inspect.getsource(slip.function))
    assert source.count(slip.text) >= 1, slip.mistake
    space = dict(slip.function.__globals__)
    body = source.replace(slip.text, slip.replacement).removeprefix("@property\n")
    exec("from __future__ import annotations\n" + body, space)
    return space[slip.function.__name__]
