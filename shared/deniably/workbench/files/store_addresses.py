"""Handles addresses of files and folders in cloud stores such as S3, much like a ``Path``.

pyarrow's file systems read the files. Keys come from where each store's own tools find them: the
environment, a file in the home folder or the machine's role, never from an address. A store's
error text is not passed on, as it may contain a key; a sentence of Deniably's says what was wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode, urlsplit

from deniably.workbench.files.optional_libraries import NoExport, library

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "abfs": "abfs", "abfss": "abfss", "hdfs": "hdfs"}
"""The schemes that an address may have, and pyarrow's name for each."""
_WITH_CONTAINER = ("abfs", "abfss")
"""The schemes of addresses such as ``abfss://container@account.dfs.core.windows.net``."""
_GOOGLE_RETRIES = "10"
"""Seconds for which Google's client tries again; its default is 15 minutes."""
_NO_ANSWER = "no store answers there"
_KEY = (
    "the store does not take the key that this environment has: look whether there is one, it is"
    " the right one, and still valid"
)
_OF_AZURE = "AZURE_CLIENT_ID and what goes with it, `az login` or the identity of the machine"
_KEYS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws or the role of the machine",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS or the account of the machine",
    "abfs": _OF_AZURE,
    "abfss": _OF_AZURE,
}
"""Where the key of each store comes from."""
_WRONG = (
    (r"libjvm|libhdfs|CLASSPATH",
     "reading hdfs needs Hadoop's client on this machine: set JAVA_HOME, HADOOP_HOME and CLASSPATH,"
     " which `hadoop classpath --glob` prints"),
    (r"PermanentRedirect|AuthorizationHeaderMalformed|HTTP status 30[17]|configured region",
     "the bucket is in another region than the one asked: set AWS_REGION to its own"),
    (r"NO_?SUCH_?BUCKET|ContainerNotFound|bucket does not exist",
     "there is no such bucket: look at its name"),
    (r"INVALID_?ACCESS_?KEY_?ID|SIGNATURE_?DOES_?NOT_?MATCH|EXPIRED_?TOKEN|INVALID_?TOKEN"
     r"|UNRECOGNIZED_?CLIENT|INVALID_?CLIENT_?TOKEN_?ID|UNAUTHENTICATED|AuthenticationFailed"
     r"|OAuth2|DefaultAzureCredential",
     _KEY),
    (r"ACCESS_?DENIED|PERMISSION_?DENIED|Permission denied|AuthorizationFailure"
     r"|AuthorizationPermissionMismatch|HTTP status 403|403 Forbidden",
     "the key that this environment has may not list or read it: give it that right, or use"
     " another key"),
    (r"NETWORK_CONNECTION|UNAVAILABLE|curlCode|Could not resolve|Connection refused|timed? ?out",
     f"{_NO_ANSWER}: look at the network, and at AWS_ENDPOINT_URL for an S3 of your own"),
    (r"no such file|does not exist|NO_?SUCH_?KEY|RESOURCE_NOT_FOUND|HTTP status 404|not found",
     "it is missing: look at the address, and whether its upload ended"),
)  # fmt: skip
"""What an error's text may contain, and the sentence for it; the first pattern that matches
counts."""


@dataclass(frozen=True)
class Address:
    """The address of a file or folder in a cloud store: ``root``, such as ``s3://bucket``, and the
    ``path`` below, without slashes at its ends. ``size`` is the size of a file in bytes, None if
    unknown."""

    root: str
    path: str
    size: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.root}/{self.path}" if self.path else self.root

    def __truediv__(self, name: str) -> Address:
        return Address(self.root, f"{self.path}/{name}" if self.path else name)

    @property
    def name(self) -> str:
        """Returns the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """Returns the address of the folder that this file or folder is in."""
        return Address(self.root, self.path.rpartition("/")[0])

    def open(self) -> Any:
        """Opens the file to read and seek in. Raises NoExport where the store refuses or the file
        is missing."""
        with in_words(self):
            if self.root.startswith(_WITH_CONTAINER):
                # Without a key, opening ends the process; asking about it is an error.
                self.filesystem.get_file_info([self.inside])
            return self.filesystem.open_input_file(self.inside)

    def read(self, maximum: int) -> bytes:
        """Returns the content of the file. Raises NoExport where the file has more than
        ``maximum`` bytes, is missing, or the store refuses."""
        try:
            with self.open() as file, in_words(self):
                if file.size() > maximum:  # asked before a byte is fetched
                    raise NoExport(f"{self} has {file.size():,} bytes; up to {maximum:,} are read")
                return bytes(file.read())
        except NoExport as error:
            # Of a file a store says only that there is none or it refuses; of a list, why.
            if _NO_ANSWER not in str(error):
                self.parent.folders()
            raise

    def files(self) -> list[Address]:
        """Returns all files below this folder, sorted; an empty list if the folder is missing.
        Raises NoExport where the store refuses."""
        return self._listed("File", deep=True)

    def folders(self) -> list[Address]:
        """Returns the folders directly in this folder; an empty list if this folder is missing.
        Raises NoExport where the store refuses."""
        return self._listed("Directory", deep=False)

    def _listed(self, kind: str, deep: bool) -> list[Address]:
        fs = library("pyarrow.fs", "bulk")
        entries: list[Any] = []
        with in_words(self), suppress(FileNotFoundError):
            entries = self.filesystem.get_file_info(fs.FileSelector(self.inside, recursive=deep))
        # Listed paths begin at the root of the file system, which may be above ``root``.
        start = len(self.inside) - len(self.path)
        return [
            Address(self.root, entry.path[start:].strip("/"), entry.size)
            for entry in sorted(entries, key=lambda entry: str(entry.path))
            if entry.type == fs.FileType[kind]
        ]

    def version(self) -> str:
        """Returns a text that changes whenever the file is rewritten: its size and time, with its
        ETag or generation if the store has one. Raises NoExport where the store refuses."""
        with in_words(self):
            [entry] = self.filesystem.get_file_info([self.inside])
            with self.filesystem.open_input_stream(self.inside) as file:
                held: dict[str, bytes] = file.metadata() or {}
        headers = {key.lower(): value for key, value in held.items()}
        tags = [headers.get("etag"), headers.get("generation")]
        return repr((entry.size, entry.mtime_ns, *tags))

    @property
    def filesystem(self) -> Any:
        """Returns pyarrow's file system for the store. Raises NoExport where the store refuses."""
        return _opened(self.uri, self.root)[0]

    @property
    def inside(self) -> str:
        """Returns the path of the file in ``filesystem``."""
        start = _opened(self.uri, self.root)[1]
        return f"{start}/{self.path}".rstrip("/") or "/"

    @property
    def uri(self) -> str:
        """Returns a URI from which pyarrow can open the store's file system on any machine. The
        URI contains no key."""
        scheme = self.root.partition("://")[0]
        options = _of_s3() if scheme == "s3" else {}
        if scheme == "gs":
            options["retry_limit_seconds"] = _GOOGLE_RETRIES
        return f"{self.root}{'?' if options else ''}{urlencode(options)}"


def is_address(text: str) -> bool:
    """Returns whether a text is an address in a store, and not a path of this machine."""
    return "://" in text


def address_of(text: str) -> Address:
    """Parses the text of an address. Raises NoExport for an unknown scheme and for an address that
    contains a key; the message does not repeat anything that may be a key."""
    scheme, _, rest = text.partition("://")
    if (kind := SCHEMES.get(scheme)) is None:
        names = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise NoExport(f"{scheme}:// is no address that is read: they begin with {names}")
    host, _, path = rest.partition("/")
    # Before an @ stands the container of an abfs address, or else what may be a key.
    user = host.rpartition("@")[0]
    if {"?", "#"} & {*rest} or (":" in user if kind in _WITH_CONTAINER else user):
        raise NoExport(
            f"an address of {scheme}:// has no key, ? or # in it: keys come from the environment,"
            " where others who use this machine do not see them"
        )
    if not host:
        raise NoExport(f"{scheme}:// needs the name of a bucket, a container or a host after it")
    return Address(f"{kind}://{host}", path.strip("/"))


def _of_s3() -> dict[str, str]:
    """Returns where the bucket is, from the variables of the environment that Amazon's own tools
    read."""
    options = dict[str, str]()
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        options["region"] = region
    if where := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        parts = urlsplit(where if "://" in where else f"https://{where}")
        options |= {"scheme": parts.scheme, "endpoint_override": parts.netloc}
    return options


# Opening looks for keys, which may ask another machine: once for each store.
@lru_cache
def _opened(uri: str, root: str) -> tuple[Any, str]:
    with in_words(root):
        filesystem, start = library("pyarrow.fs", "bulk").FileSystem.from_uri(uri)
    return filesystem, str(start).rstrip("/")


def forget_stores() -> None:
    """Forgets the open file systems. The next read opens them with the keys that are in the
    environment by then."""
    _opened.cache_clear()


@contextmanager
def in_words(about: Address | str) -> Generator[None]:
    """Turns every error of a store's client within the block into NoExport. The message begins
    with ``about`` and explains the error."""
    try:
        yield
    except NoExport:
        raise
    except Exception as error:  # pyarrow has no common class for them
        sentence = why(str(error))
        keys = _KEYS.get(str(about).partition("://")[0], "") if sentence == _KEY else ""
        source = f". It comes from {keys}" if keys else ""
        raise NoExport(f"{about}: {sentence}{source}") from None


def why(text: str) -> str:
    """Returns a sentence that explains a store's error, given the error's ``text``. Only an error
    code is repeated from that text, as it may contain a key."""
    for pattern, sentence in _WRONG:
        if re.search(pattern, text, re.IGNORECASE):
            return sentence
    code = re.search(r"AWS Error ([A-Z_]+)", text)
    return f"the store refused it{f' ({code[1]})' if code else ''}"
