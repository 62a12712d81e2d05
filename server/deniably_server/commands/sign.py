"""``deniably sign``: signs a survey on a computer that needs no network."""

from __future__ import annotations

from pathlib import Path

import click

from deniably_server.commands.authoring import sentences, show_check
from deniably_server.commands.key_option import key_option


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@key_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def sign(file: Path, path: Path | None, yes: bool) -> None:
    """Sign the survey FILE here, to publish it from another computer.

    It shows what deniably check shows, asks, and writes NAME.signature beside FILE. It needs no
    server and no network. Publish with: deniably publish FILE --signature NAME.signature. Where the
    file is changed afterwards, the signature is refused.
    """
    from deniably.authoring.checking import check_survey
    from deniably.trust.signature_file import SignatureFile
    from deniably_server.commands.author_key import author_key

    with sentences(str(file)):
        found = check_survey(file)
    show_check(found, found.notes)
    survey = found.survey
    click.echo(f"\n{'-' * 100}")
    if not yes:
        click.confirm(f"Sign {survey.name}, digest {survey.digest}?", abort=True)
    signature = author_key(path).sign(survey.digest)
    made = SignatureFile(survey.name, survey.digest, signature.author, signature.value)
    target = file.with_name(f"{survey.name}.signature")
    try:
        target.write_text(made.text, encoding="ascii")
    except OSError as error:
        raise click.ClickException(f"cannot write {target}: {error.strerror}") from None
    click.echo(f"{target} is the signature of {signature.fingerprint}, of digest {survey.digest}")
    click.echo(f"publish it with: deniably publish {file.name} --signature {target.name}")
