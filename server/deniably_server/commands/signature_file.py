"""Reads what ``deniably sign`` wrote on another computer."""

from __future__ import annotations

from pathlib import Path

import click

from deniably.core.bounded_files import read_file
from deniably.core.errors import BadSignature
from deniably.survey.survey import Survey
from deniably.trust.signature_file import LONGEST, read_signature_file
from deniably.trust.signing import Signature


def signature_in(path: Path, survey: Survey) -> Signature:
    """Returns the signature of this survey that ``deniably sign`` wrote into a file. Raises
    ClickException where there is none."""
    try:
        return read_signature_file(read_file(path, LONGEST)).of(survey.name, survey.digest)
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from None
    except BadSignature as error:
        raise click.ClickException(f"{path}: {error}") from None
