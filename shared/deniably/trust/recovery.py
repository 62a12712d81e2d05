"""Writes and opens the copy of an author's signing key: a file that six words open (SPEC 9.1).

The file is PKCS #8 with PBES2 (RFC 5958, RFC 8018), which OpenSSL opens, too. AES-CBC has no
authentication tag, so the text of the file states the fingerprint of the key, and opening compares
it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniably.core.dates import is_date
from deniably.core.errors import BadKey, BadWords
from deniably.core.steering import one_line
from deniably.trust.signing import Key, fingerprint, key_of

COUNT = 6
"""How many words open a copy. Drawn from 2,048, six words are 66 random bits."""
LETTERS = 4
"""How many first letters tell a word from all others of the list."""
LONGEST_GROUP = 100
"""The maximum of characters of a group's name."""

_BEGIN, _END = (f"-----{word} ENCRYPTED PRIVATE KEY-----" for word in ("BEGIN", "END"))
_TITLE = "Copy of a signature of Deniably"
_HINT = "Six words open it. Keep them apart from this file."
_HEAD = re.compile(
    rf"^{_TITLE}\nGroup: (.+)\nNumber: ([0-9a-f]{{4}}(?: [0-9a-f]{{4}}){{7}})\nDay: (.+)$",
    re.MULTILINE,
)
_BODY = re.compile(rf"^{_BEGIN}\n([A-Za-z0-9+/=\n]+)\n{_END}$", re.MULTILINE)
# OWASP's recommendation of 2023 for PBKDF2 with HMAC-SHA-256.
_ROUNDS = 600_000
# DER of RFC 5958. All lengths are fixed, so these bytes are the same in every copy.
_BEFORE_SALT = bytes.fromhex(
    "3081a4306006092a864886f70d01050d3053"  # EncryptedPrivateKeyInfo, PBES2
    "303206092a864886f70d01050c30250410"  # PBKDF2
)
_BEFORE_VECTOR = bytes.fromhex(
    f"0203{_ROUNDS:06x}300c06082a864886f70d02090500"  # rounds, HMAC with SHA-256
    "301d060960864801650304012a0410"  # AES-256-CBC
)
_BEFORE_SEALED = bytes.fromhex("0440")
_DER = re.compile(
    b"%b(.{16})%b(.{16})%b(.{64})"
    % tuple(re.escape(each) for each in (_BEFORE_SALT, _BEFORE_VECTOR, _BEFORE_SEALED)),
    re.DOTALL,
)
_PLAIN = bytes.fromhex("302e020100300506032b657004220420")
"""An Ed25519 key in PKCS #8 before its 32 secret bytes (RFC 8410)."""
_PADDING = bytes([16]) * 16  # of PKCS #7: the plain key fills whole blocks


@dataclass(frozen=True)
class KeyCopy:
    """The content of a file with an encrypted copy of an author's private key.

    ``group`` is the name of the person or group that signs with the key, ``number`` the fingerprint
    of the key, and ``day`` the date on which the copy was made, such as "2026-11-21".
    """

    group: str
    number: str
    day: str
    _salt: bytes = field(repr=False)
    _vector: bytes = field(repr=False)
    _sealed: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The text of the file."""
        parts = (_BEFORE_SALT, self._salt, _BEFORE_VECTOR, self._vector, _BEFORE_SEALED)
        body = base64.b64encode(b"".join([*parts, self._sealed])).decode()
        head = (_TITLE, f"Group: {self.group}", f"Number: {self.number}", f"Day: {self.day}", _HINT)
        return "\n".join([*head, "", _BEGIN, *textwrap.wrap(body, 64), _END, ""])

    def open(self, words: Sequence[str]) -> Key:
        """Decrypts the copy with its six words, and returns the key. This takes a quarter of a
        second.

        Raises BadWords where the copy has other words, and BadKey where the file was changed.
        """
        cipher = _cipher(words, self._salt, self._vector).decryptor()
        plain = cipher.update(self._sealed) + cipher.finalize()
        secret = plain[len(_PLAIN) : -len(_PADDING)]
        # Other words give random bytes, so the fixed bytes around the secret do not fit.
        if plain != _PLAIN + secret + _PADDING:
            raise BadWords("These are not the words of this copy.")
        key = key_of(secret)
        if fingerprint(key.author) != self.number:
            raise BadKey(
                f"this copy was changed: it names the number {self.number}, and its key has"
                f" {fingerprint(key.author)}"
            )
        return key


def write_copy(key: Key, group: str, day: str, words: Sequence[str]) -> KeyCopy:
    """Returns a copy of the key, encrypted with these six words.

    ``day`` is the date of the copy, such as "2026-11-21". Raises BadKey for a ``group`` that is
    empty, too long or not one line, or has five hyphens in a row.
    """
    # Five hyphens could pass for the line that begins the key in PEM.
    if group != one_line(group).strip() or "-----" in group or not 0 < len(group) <= LONGEST_GROUP:
        raise BadKey(
            f"the name of a group is a line of 1 to {LONGEST_GROUP} characters, without five"
            " hyphens in a row"
        )
    salt, vector = secrets.token_bytes(16), secrets.token_bytes(16)
    cipher = _cipher(words, salt, vector).encryptor()
    sealed = cipher.update(_PLAIN + key.secret + _PADDING) + cipher.finalize()
    return KeyCopy(group, fingerprint(key.author), day, salt, vector, sealed)


def is_copy(text: bytes) -> bool:
    """Returns whether a file is an encrypted key: a copy, perhaps damaged, or a key with a
    password."""
    return _TITLE.encode() in text or _BEGIN.encode() in text


def read_copy(text: bytes) -> KeyCopy:
    """Returns the copy in the text of a file. Raises BadKey where the text is cut or damaged, or is
    no copy."""
    if not is_copy(text):
        raise BadKey("this is no copy of a signature")
    # Editors and mail add a byte order mark, carriage returns and spaces at the ends of lines.
    lines = text.decode("utf-8-sig", errors="replace").splitlines()
    plain = "\n".join(line.rstrip() for line in lines)
    head, body = _HEAD.search(plain), _BODY.search(plain)
    der = _decoded(body[1]) if body else b""
    parts = _DER.fullmatch(der)
    if der and not der.startswith(_BEFORE_SALT):
        raise BadKey("this is a key with a password, and no copy of a signature that Deniably made")
    if head is None or parts is None or not is_date(head[3]):
        raise BadKey("this copy is cut or damaged: take the whole file, with all its lines")
    return KeyCopy(head[1], head[2], head[3], parts[1], parts[2], parts[3])


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode(body.replace("\n", ""), validate=True)
    except binascii.Error:
        return b""


# --- the words --------------------------------------------------------------------------------


def draw_words() -> tuple[str, ...]:
    """Returns six words of ``word_list``, drawn with the operating system's generator."""
    return tuple(secrets.choice(word_list()) for _ in range(COUNT))


def read_words(text: str) -> tuple[str, ...]:
    """Returns the six words in a typed text, which may have capital letters, commas or line breaks.

    The first four letters of a word are enough, and the rest of it is ignored. Raises BadWords
    where there are not six words, or one of them is not in ``word_list``.

    >>> read_words("able Jacket, jade lake lamp oas")
    Traceback (most recent call last):
    deniably.core.errors.BadWords: Word 6 is not on the list; look at it once more.
    >>> read_words("able Jacket, jade lake lamp oasi")
    ('able', 'jacket', 'jade', 'lake', 'lamp', 'oasis')
    """
    typed = re.findall(r"\w+", text.lower())
    if len(typed) != COUNT:
        raise BadWords(f"A copy opens with six words, and this is {len(typed) or 'none'}.")
    known = {word[:LETTERS]: word for word in word_list()}
    found = [known.get(word[:LETTERS]) for word in typed]
    if None in found:
        number = found.index(None) + 1
        raise BadWords(f"Word {number} is not on the list; look at it once more.")
    return tuple(word for word in found if word)


@cache
def word_list() -> tuple[str, ...]:
    """Returns the list of 2,048 words, which browsers read from the same file (SPEC 9.1)."""
    return tuple((files("deniably.trust") / "words.txt").read_text(encoding="ascii").split())


def _cipher(words: Sequence[str], salt: bytes, vector: bytes) -> Cipher[modes.CBC]:
    key = hashlib.pbkdf2_hmac("sha256", " ".join(words).encode(), salt, _ROUNDS)
    return Cipher(algorithms.AES256(key), modes.CBC(vector))
