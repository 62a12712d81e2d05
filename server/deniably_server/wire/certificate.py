"""Makes a certificate for an address of this machine.

Nobody vouches for it, so browsers warn before the first page. It is kept and used again, so that
they warn once for each address.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from ssl import OP_NO_TICKET, PROTOCOL_TLS_SERVER, SSLContext, TLSVersion
from tempfile import NamedTemporaryFile

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from deniably.core.bounded_files import read_file

_DAYS, _LEFT, _BEFORE = timedelta(days=180), timedelta(days=7), timedelta(days=1)
"""How long a new certificate is valid, which is more than a term; how long an old one has to be to
be used again; and by how much phones' clocks may be slow."""
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_LARGEST = 1 << 16
"""Bytes of the file that are read; it has some 1,000."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class OwnCertificate:
    """A certificate with its private key, both in ``file``, which only its owner can read."""

    file: Path
    certificate: x509.Certificate

    @property
    def last_day(self) -> str:
        """The last UTC date on which the certificate is valid all day, such as "2026-11-21"."""
        return (self.certificate.not_valid_after_utc - timedelta(days=1)).date().isoformat()

    @property
    def fingerprint(self) -> str:
        """The SHA-256 fingerprint of the certificate in hexadecimal, as browsers show it."""
        return self.certificate.fingerprint(hashes.SHA256()).hex(" ").upper()

    def context(self) -> SSLContext:
        """Returns the TLS settings of a server with this certificate. They allow no session
        tickets, by which one visit could be linked to the next."""
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.minimum_version = TLSVersion.TLSv1_2
        context.options |= OP_NO_TICKET
        context.num_tickets = 0
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(self.file)
        return context


def local_name() -> str | None:
    """Returns this machine's name in its own network by multicast DNS (RFC 6762), such as
    laptop.local; None where its host name cannot be one."""
    label = socket.gethostname().partition(".")[0].lower()
    return f"{label}.local" if _LABEL.fullmatch(label) and label != "localhost" else None


def own_certificate(address: str, folder: Path) -> OwnCertificate:
    """Returns a certificate for an address such as 192.168.1.7 and for this machine's
    ``local_name``.

    Uses the certificate in ``folder`` again, unless it ends soon, is for other names, or has a key
    that others may read. Otherwise makes a new certificate and writes it there. Raises OSError
    where that fails.
    """
    file, name = folder / f"{address}.pem", local_name()
    if usable := _kept(file, address, name):
        return OwnCertificate(file, usable)
    certificate, text = _make(address, name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=folder, delete=False) as temporary:  # its mode is 0600
        temporary.write(text)
        temporary.flush()
        os.fsync(temporary.fileno())
    os.replace(temporary.name, file)  # another process reads the old file or the new one
    return OwnCertificate(file, certificate)


def _names(address: str, name: str | None) -> list[x509.GeneralName]:
    """Returns all names that the certificate is for."""
    return [x509.IPAddress(ip_address(address)), *([x509.DNSName(name)] if name else [])]


def _kept(file: Path, address: str, name: str | None) -> x509.Certificate | None:
    """Returns the certificate in the file, if it can still be used."""
    try:
        if file.stat().st_mode & _OTHERS:
            return None  # somebody else may have read the key
        text = read_file(file, _LARGEST)
        certificate, key = x509.load_pem_x509_certificate(text), load_pem_private_key(text, None)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, x509.ExtensionNotFound):  # whatever is wrong: a new one
        return None
    now = datetime.now(UTC)
    usable = (
        [*names] == _names(address, name)
        and key.public_key() == certificate.public_key()
        and certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc - _LEFT
    )
    return certificate if usable else None


def _make(address: str, name: str | None) -> tuple[x509.Certificate, bytes]:
    """Returns a new certificate, and it with its key as PEM (RFC 5280, 7468)."""
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Deniably")])
    now = datetime.now(UTC)
    # A key on an elliptic curve signs handshakes, and encrypts nothing.
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=False, crl_sign=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + _DAYS)
        .add_extension(x509.SubjectAlternativeName(_names(address, name)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    private_key = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate, private_key + certificate.public_bytes(Encoding.PEM)
