"""Section 4 of shared/SPEC.md, the published definition, as the reference reads it."""

from __future__ import annotations

import re

from reference import check_claim, check_mechanism, digest, require


def keys(value, needed, optional=()):
    require(type(value) is dict, "an object is needed")
    for key in value:
        require(key in needed or key in optional, "an unknown key")
    for key in needed:
        require(key in value, f"the key {key} is missing")


def named(items, pattern=r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"):
    for item in items:
        require(type(item["name"]) is str and re.fullmatch(pattern, item["name"]), "a bad name")
    require(len({item["name"] for item in items}) == len(items), "a name is used twice")


def texts(value, *names):
    for name in names:
        require(type(value.get(name, "")) is str, f"{name} is a text")


def check_question(question):
    keys(question, ("name", "type", "label", "choices", "claim", "mechanism"), ("hint",))
    texts(question, "label", "hint")
    choices, mechanism = question["choices"], question["mechanism"]
    require(type(choices) is list, "the choices are a list")
    for choice in choices:
        keys(choice, ("name", "label"))
        texts(choice, "label")
    named(choices)
    names = [choice["name"] for choice in choices]
    require(question["type"] in ("yes_no", "select_one"), "an unknown type of question")
    yes_no = question["type"] == "yes_no"
    require(not yes_no or names == ["yes", "no"], "yes_no has the choices yes, no")
    keys(mechanism, ("name", "k", "omega", "own", "other"))
    require(mechanism["name"] == "subset_selection", "an unknown mechanism")
    check_mechanism(*(mechanism[name] for name in ("k", "omega", "own", "other")))
    require(mechanism["k"] == len(choices), "k is the number of choices")
    check_claim(question["claim"], mechanism["own"], mechanism["other"])


def check_definition(value):
    """The digest of a valid definition."""
    needed = ("spec", "name", "title", "language", "results", "questions")
    keys(value, needed, ("intro", "contact"))
    require(type(value["spec"]) is int and value["spec"] == 1, "spec is 1")
    named([value], r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
    texts(value, "title", "language", "intro", "contact")
    keys(value["results"], ("minimum", "while_open"))
    minimum = value["results"]["minimum"]
    require(type(minimum) is int and minimum >= 1, "results.minimum is at least 1")
    require(type(value["results"]["while_open"]) is bool, "while_open is true or false")
    questions = value["questions"]
    require(type(questions) is list and 1 <= len(questions) <= 100, "1 to 100 questions")
    for question in questions:
        check_question(question)
    named(questions)
    return digest(value)
