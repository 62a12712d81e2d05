"""Buckets on an S3 server of this machine's own, which ``make .venv-s3/.installed`` installs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

PYTHON = Path(__file__).parents[2] / ".venv-s3/bin/python"
_PROGRAM = Path(__file__).with_name("s3_server.py")
_ABANDONED = """import boto3, os, sys
bucket, key = sys.argv[1:]
client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
upload = client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
part = {"Bucket": bucket, "Key": key, "UploadId": upload, "PartNumber": 1}
client.upload_part(**part, Body=sys.stdin.buffer.read())
"""


@dataclass(frozen=True)
class Server:
    """Where it is, and the keys of a user who may do everything, and of one who may do nothing."""

    address: str
    region: str
    owner: tuple[str, str]
    stranger: tuple[str, str]

    def environment(self) -> dict[str, str]:
        """The environment in which all tools find the server, with the owner's key."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCESS_KEY_ID": self.owner[0],
            "AWS_SECRET_ACCESS_KEY": self.owner[1],
        }

    @property
    def files(self) -> Any:
        """pyarrow's file system of the owner."""
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            access_key=self.owner[0], secret_key=self.owner[1], endpoint_override=self.address,
            region=self.region, allow_bucket_creation=True,
        )  # fmt: skip

    def bucket(self, name: str) -> str:
        """Make a bucket; returns its address."""
        self.files.create_dir(name)
        return f"s3://{name}"

    def upload(self, folder: Path, to: str) -> str:
        """Copy a folder of this machine to an address; returns that."""
        from pyarrow.fs import copy_files

        copy_files(str(folder), to.removeprefix("s3://"), destination_filesystem=self.files)
        return to

    def write(self, to: str, content: bytes) -> None:
        """Write an object anew."""
        with self.files.open_output_stream(to.removeprefix("s3://")) as file:
            file.write(content)

    def abandon(self, to: str, content: bytes) -> None:
        """Begin the upload of an object in parts, send one, and never end it."""
        bucket, _, key = to.removeprefix("s3://").partition("/")
        environment = self.environment() | {"AWS_DEFAULT_REGION": self.region}
        subprocess.run([PYTHON, "-c", _ABANDONED, bucket, key], input=content, check=True,
                       env=environment)  # fmt: skip

    def sent(self) -> dict[str, int]:
        """The bytes that were sent of each object since this was asked last."""
        found: dict[str, int] = requests.get(f"{self.address}/sent", timeout=10).json()
        return found


@contextmanager
def server() -> Generator[Server]:
    """A server that is empty, and ends with the tests."""
    assert PYTHON.exists(), "make .venv-s3/.installed first"
    with subprocess.Popen(
        [PYTHON, _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stdin
        found = json.loads(process.stdout.readline())
        yield Server(
            found["address"], found["region"], tuple(found["owner"]), tuple(found["stranger"])
        )
        process.stdin.close()
