"""Describes how answers were randomised, in the words of a methods section, with sources.

Reads the mechanism's parameters from a results document, which may come from another server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from deniably.core.counting import counted
from deniably.results.document import QuestionResult

Parameters = Mapping[str, Any]
"""A mechanism in a results document: its name and its parameters."""


@dataclass(frozen=True)
class NamedMechanism:
    """The description of a mechanism in words: its usual ``name``, ``report``, a clause that says
    what one report is, and ``sources``, the keys (of ``references.SOURCES``) of works about it.

    ``report`` has no full stop; it is empty for a mechanism that has no description.
    """

    name: str
    report: str = ""
    sources: tuple[str, ...] = ()


def randomiser(question: QuestionResult) -> NamedMechanism:
    """Returns the description of a question's mechanism in words; for an unknown mechanism,
    ``report`` is empty."""
    return _in_words(question.mechanism) or NamedMechanism(question.method)


def _in_words(parameters: Parameters) -> NamedMechanism | None:
    described = _WORDS.get(str(parameters["name"]))
    return described(parameters) if described else None


def _subset_selection(parameters: Parameters) -> NamedMechanism:
    k, omega = int(parameters["k"]), int(parameters["omega"])
    # Of all sets, comb(k-1, omega-1) hold the true answer and comb(k-1, omega) do not: a ratio of
    # omega : k - omega, times the weights (Ye and Barg 2018).
    kept, other = omega * parameters["own"], (k - omega) * parameters["other"]
    p = kept / (kept + other)
    if omega > 1:
        # Of the sets with a given other answer, (omega-1) : (k-omega) hold the true one or not.
        q = omega * ((omega - 1) * parameters["own"] + (k - omega) * parameters["other"])
        return NamedMechanism(
            "subset selection",
            f"a report names {omega} of the {k} answers, the true one with probability {chance(p)}"
            f" and each other one with probability {chance(q / (k - 1) / (kept + other))}",
            ("ye2018",),
        )
    if k == 2:
        return NamedMechanism(
            "randomised response",
            f"a report is the true answer with probability {chance(p)}, otherwise the other one",
            ("warner1965",),
        )
    return NamedMechanism(
        "k-ary randomised response",
        f"a report is the true answer with probability {chance(p)}, otherwise one of the other"
        f" {k - 1} with equal probabilities",
        ("kairouz2016",),
    )


def _window(parameters: Parameters) -> NamedMechanism:
    k, m, w = (int(parameters[key]) for key in "kmw")
    starts, ratio = m - w + 1, f"{parameters['own'] / parameters['other']:.3g}"
    heavy = "the one that stands for the answer is" if w == 1 else f"{w} around the answer are each"
    rounded = "" if starts == k else f"the answer is rounded at random to one of {starts} places; "
    drawn = f"{rounded}a report is one of {m} outputs, of which {heavy} {ratio} times as likely as"
    report = f"{drawn} any of the others"
    if (m, w) == (2, 1):
        return NamedMechanism("a two-point mechanism", report, ("duchi2018",))
    if starts == k:
        return NamedMechanism("a square wave", report, ("li2020",))
    return NamedMechanism("a window mechanism", report, ("duchi2018", "wang2019"))


def _channel(parameters: Parameters) -> NamedMechanism:
    return NamedMechanism(
        "a randomised response design",
        "a report is drawn with the probabilities of the matrix in the survey's definition",
        ("chaudhuri1988",),
    )


def _set_response(parameters: Parameters) -> NamedMechanism:
    return NamedMechanism(
        "PrivSet",
        f"a report names {parameters['size']} out of the {parameters['k']} options and"
        f" {counted(int(parameters['most']), 'blank')}, used to fill up the ticks; sets with a"
        " ticked option or a blank in use are"
        f" {parameters['own'] / parameters['other']:.3g} times as likely as others",
        ("wang2018",),
    )


def _sampled_ticks(parameters: Parameters) -> NamedMechanism:
    s, k = parameters["s"], parameters["k"]
    share = parameters["own"] / (parameters["own"] + parameters["other"])
    return NamedMechanism(
        "randomised response on sampled options",
        f"the device draws {s} of the {k} options at random and reports of each whether it is"
        f" ticked, truthfully with probability {chance(share)}",
        ("warner1965",),
    )


def _unary(parameters: Parameters) -> NamedMechanism:
    own, other, total = (int(parameters[key]) for key in ("own", "other", "total"))
    name = "unary encoding"
    sources: tuple[str, ...] = ("wang2017",)
    # Symmetric if p + q = 1, optimised if p = 1/2 (Wang et al. 2017).
    if own + other == total:
        name, sources = "symmetric unary encoding", ("erlingsson2014", *sources)
    elif 2 * own == total:
        name = "optimised unary encoding"
    return NamedMechanism(
        name,
        f"a report names each option by itself, with probability {chance(own / total)} if it is"
        f" chosen and {chance(other / total)} if it is not",
        sources,
    )


def _laplace(parameters: Parameters) -> NamedMechanism:
    return NamedMechanism(
        "discrete Laplace noise",
        f"a report is the answer plus noise of scale {parameters['scale']}, in steps of its range",
        ("dwork2006", "ghosh2012"),
    )


def _bounded_laplace(parameters: Parameters) -> NamedMechanism:
    noise = (
        f"a report is the answer plus discrete Laplace noise of scale {parameters['scale']} steps"
    )
    if parameters["beyond"] == "clamp":
        return NamedMechanism(
            "bounded discrete Laplace noise",
            f"{noise}, moved to the nearer end where that is beyond the range",
            ("dwork2006", "ghosh2012"),
        )
    return NamedMechanism(
        "bounded discrete Laplace noise",
        f"{noise}, drawn until the sum is within the range",
        ("holohan2020",),
    )


def _gaussian(parameters: Parameters) -> NamedMechanism:
    return NamedMechanism(
        "discrete Gaussian noise",
        f"a report is the answer plus noise of variance {parameters['sigma2']}, in squared steps of"
        " its range",
        ("balle2018", "canonne2020"),
    )


def _vector(parameters: Parameters) -> NamedMechanism | None:
    parts = [_in_words(part) for part in cast("list[Parameters]", parameters["parts"])]
    known = [part for part in parts if part]
    if len(known) < len(parts):
        return None
    s, count = int(parameters["s"]), len(known)
    drawn = f"takes all {count} numbers" if s == count else f"draws {s} of the {count} numbers"
    at_random = "" if s == count else " at random"
    reports = list(dict.fromkeys(part.report for part in known))
    alike = f": {reports[0]}" if len(reports) == 1 else ", each with weights of its own"
    return NamedMechanism(
        " or ".join(dict.fromkeys(part.name for part in known)),
        f"the device {drawn}{at_random} and randomises {'it' if s == 1 else 'each'}{alike}",
        tuple(dict.fromkeys(["duchi2018", *(key for part in known for key in part.sources)])),
    )


def _memoised(parameters: Parameters) -> NamedMechanism | None:
    once = _in_words(cast(Parameters, parameters["once"]))
    if once is None:
        return None
    return replace(
        once,
        name=f"{once.name} with a kept answer",
        report=f"the device randomises the answer once, keeps the result, and randomises that in"
        f" each wave so that by itself {once.report}",
        sources=("arcolezi2022", "erlingsson2014", *once.sources),
    )


_WORDS: Mapping[str, Callable[[Parameters], NamedMechanism | None]] = {
    "subset_selection": _subset_selection,
    "window": _window,
    "channel": _channel,
    "set_response": _set_response,
    "sampled_ticks": _sampled_ticks,
    "unary": _unary,
    "laplace": _laplace,
    "bounded_laplace": _bounded_laplace,
    "gaussian": _gaussian,
    "vector": _vector,
    "memoised": _memoised,
}


def chance(probability: float) -> str:
    """Returns a probability as text with four significant digits, never rounded to 0 or 1.

    >>> chance(0.75), chance(0.880797), chance(0.999999999)
    ('0.75', '0.8808', '0.999999999')
    """
    for digits in range(4, 17):
        text = f"{probability:.{digits}g}"
        if 0 < float(text) < 1:
            return text if "e" not in text else f"{probability:.{digits + 3}f}".rstrip("0")
    return repr(probability)
