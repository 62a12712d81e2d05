"""Markdown: texts, tables and addresses, for CommonMark and what is built on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from deniably.core.languages.addresses import web_address
from deniably.core.languages.code import Code
from deniably.core.steering import one_line

_MARKS = re.compile(
    r"[\\*_\[\]<>#|$]"  # $ begins mathematics in pandoc and on code hosts
    r"|~(?=\S)|(?<=\S)~"
    r"|&(?=#|[A-Za-z])"  # an entity
    r"|:(?=//)|(?<=www)\.|@(?=\w)"  # an address, or a citation of pandoc
    r"|^[-+=](?=[-+=\s]|$)"  # the start of a list or a rule; then that of a numbered list
    r"|(?:(?<=^\d)|(?<=^\d\d)|(?<=^\d{3}))[.)](?=\s|$)"
)


class Markdown(Code):
    """Source code of Markdown.

    >>> Markdown.text("50_000 <b> of `a`")
    Markdown('50\\\\_000 \\\\<b\\\\> of &#96;a&#96;')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a text on one line, escaped so that Markdown takes nothing in it for markup, a
        link or HTML."""
        return cls._made(_escaped(one_line(text).strip()))

    @classmethod
    def address(cls, address: str) -> Self:
        """Returns a link whose text is the address itself; plain text if ``address`` is not a web
        address."""
        web = web_address(address)
        return cls._made(f"<{web}>") if web else cls.text(address)

    @classmethod
    def as_code(cls, code: str) -> Self:
        """Returns a text as inline code. Raises ValueError if the text has a backtick, a vertical
        line, or a character that ``one_line`` changes, such as a line break."""
        if re.search(r"[`|]", code) or one_line(code) != code:
            raise ValueError(f"{code!r} cannot be set as code")
        return cls._made(f"`{code}`")

    @classmethod
    def table(cls, lines: Sequence[Sequence[str]], texts: int) -> Self:
        """Returns a Markdown table. The first of ``lines`` has the headings.

        The first ``texts`` columns are aligned left, for words; the others are aligned right, for
        numbers.
        """
        head, *rest = [[cls.text(cell).source for cell in line] for line in lines]
        sides = [":---" if place < texts else "---:" for place in range(len(head))]
        return cls._made("\n".join(f"| {' | '.join(row)} |" for row in (head, sides, *rest)))


def _escaped(text: str) -> str:
    # A backtick is an entity: knitr runs code between backticks, backslash or not.
    return _MARKS.sub(lambda match: f"\\{match[0]}", text).replace("`", "&#96;")
