"""``deniably sign``: signs on a computer that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from deniably.core.steering import one_line, printable
from deniably_server.commands.authoring import sentences, show_check
from deniably_server.commands.key_option import key_option

if TYPE_CHECKING:
    from deniably.trust.signing import Signature

_CLOSING, _SIGN_IN = "close", "sign_in"
"""The one member of a file of the studio that is no survey."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@key_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def sign(file: Path, path: Path | None, yes: bool) -> None:
    """Sign the survey FILE here, to publish it from another computer.

    It shows what deniably check shows, asks you whether to sign, and writes NAME.signature beside
    FILE. It needs no server and no network. Publish with: deniably publish FILE --signature
    NAME.signature. If you change the file afterwards, the signature is refused.

    FILE may also come from a page of the studio, to be signed on this computer: a survey as it
    will be published, its closing, or a sign-in. Then choose the signature file on that page of
    the studio.
    """
    from deniably.authoring.survey_files import read_document

    with sentences(str(file)):
        document = read_document(file)
    members = set(cast(dict[str, Any], document)) if isinstance(document, dict) else set[str]()
    if members == {_CLOSING}:
        return _sign_closing(file, cast(dict[str, Any], document)[_CLOSING], path, yes=yes)
    if members == {_SIGN_IN}:
        return _sign_sign_in(file, cast(dict[str, Any], document)[_SIGN_IN], path, yes=yes)
    return _sign_survey(file, path, yes=yes)


def _sign_survey(file: Path, path: Path | None, *, yes: bool) -> None:
    from deniably.authoring.checking import check_survey
    from deniably.authoring.mixers import require_key
    from deniably.authoring.survey_files import is_published, read_document
    from deniably.trust.signature_file import SignatureFile
    from deniably_server.commands.author_key import author_key

    with sentences(str(file)):
        found = check_survey(file)
        published = is_published(read_document(file))
    show_check(found, found.notes)
    survey = found.survey
    with sentences(str(file)):
        require_key(survey)
    click.echo(f"\n{'-' * 100}")
    _ask(f"Sign {survey.name}, digest {survey.digest}?", yes=yes)
    signature = author_key(path).sign(survey.digest)
    made = SignatureFile(survey.name, survey.digest, signature.author, signature.value)
    target = file.with_name(f"{survey.name}.signature")
    _write(target, made.text, signature, f"of digest {survey.digest}")
    if published:  # it came from the studio, which takes the signature
        click.echo(f"choose {target.name} on the page that gave you {file.name}")
    else:
        click.echo(f"publish it with: deniably publish {file.name} --signature {target.name}")


def _sign_closing(file: Path, definition: object, path: Path | None, *, yes: bool) -> None:
    """Sign that a survey takes no more reports; its ``definition`` says which one."""
    from deniably.survey.survey import as_survey
    from deniably.trust.register import closing_digest
    from deniably.trust.signature_file import SignatureFile
    from deniably_server.commands.author_key import author_key

    with sentences(str(file)):
        survey = as_survey(definition)
    click.echo(one_line(f"{survey.name}: {survey.title}"))
    click.echo(f"digest {survey.digest}\n")
    _ask(f"Close {survey.name} for good? It takes no more reports then.", yes=yes)
    signature = author_key(path).sign(closing_digest(survey.digest))
    made = SignatureFile(
        survey.name, closing_digest(survey.digest), signature.author, signature.value
    )
    target = file.with_name(f"{survey.name}-close.signature")
    _write(target, made.text, signature, f"of the closing of {survey.name}")
    click.echo(f"choose {target.name} on the page that gave you {file.name}")


def _sign_sign_in(file: Path, request: object, path: Path | None, *, yes: bool) -> None:
    """Sign in to the studio of a server, which asked for a nonce to be signed."""
    import msgspec

    from deniably.trust.sign_in_request import SignInFile, SignInRequest, sign_in_message
    from deniably_server.commands.author_key import author_key

    try:
        wanted = msgspec.convert(request, SignInRequest)
    except msgspec.ValidationError as error:
        raise click.ClickException(f"{file} is no sign-in of a studio: {error}") from None
    _ask(f"Sign in to the studio of {wanted.origin}? The browser can then publish there.", yes=yes)
    signature = author_key(path).sign_text(sign_in_message(wanted.origin, wanted.nonce))
    made = SignInFile(wanted.origin, wanted.nonce, signature.author, signature.value)
    target = file.with_name("sign-in.signature")
    _write(target, made.text, signature, f"of a sign-in to {wanted.origin}")
    click.echo(f"choose {target.name} on the page that gave you {file.name}")


def _ask(question: str, *, yes: bool) -> None:
    if not yes:
        click.confirm(printable(question), abort=True)


def _write(target: Path, text: str, signature: Signature, what: str) -> None:
    """Write the file of a signature. Raises ClickException where it cannot be written."""
    try:
        target.write_text(text, encoding="ascii")
    except OSError as error:
        raise click.ClickException(f"cannot write {target}: {error.strerror}") from None
    click.echo(f"{target} is the signature of {signature.fingerprint}, {what}")
