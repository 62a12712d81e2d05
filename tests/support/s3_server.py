"""An S3 server of this machine's own, for tests: moto, in an environment of its own.

``python s3_server.py`` prints a line of JSON, once it answers: its address, its region and the keys
of two users. The first may do everything; the second may list and read nothing. It ends with its
input. What moto leaves out is added: a bucket of another region is not served, and ``/sent`` says
how many bytes were sent of each object since it was asked last.
"""

import json
import os
import re
import sys
import threading
from collections import Counter

os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "inf"  # until there are users

import boto3
import requests
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import make_server

REGION = "eu-central-1"
_ALL = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
_ELSEWHERE = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>PermanentRedirect</Code><Message>The bucket you are attempting to access must be
addressed using the specified endpoint.</Message></Error>"""


class Store:
    """moto's S3, with what it leaves out."""

    def __init__(self):
        self._inside = DomainDispatcherApplication(create_backend_app)
        self._sent = Counter()
        self._lock = threading.Lock()

    def __call__(self, environ, start):
        with self._lock:  # moto changes dictionaries while other threads walk through them
            return self._answer(environ, start)

    def _answer(self, environ, start):
        path = environ["PATH_INFO"]
        if path == "/sent":
            found, self._sent = json.dumps(self._sent).encode(), Counter()
            start("200 OK", [("Content-Type", "application/json")])
            return [found]
        region = self._region(path.strip("/").partition("/")[0])
        signed = re.search(
            r"Credential=[^/]+/\d+/([^/]+)/s3/", environ.get("HTTP_AUTHORIZATION", "")
        )
        if region and signed and signed[1] != region:
            start("301 Moved Permanently", [("x-amz-bucket-region", region)])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [_ELSEWHERE]
        answer = list(self._inside(environ, start))
        if environ["REQUEST_METHOD"] == "GET":
            self._sent[path.strip("/")] += sum(map(len, answer))
        return answer

    def _region(self, bucket):
        for backend in (one["aws"] for one in s3_backends.values()):
            if bucket in backend.buckets:
                return backend.buckets[bucket].region_name
        return None


def main():
    """Serve until standard input ends."""
    server = make_server("127.0.0.1", 0, Store(), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.port}"
    users = boto3.client(
        "iam", endpoint_url=address, region_name=REGION, aws_access_key_id="first",
        aws_secret_access_key="first",
    )  # fmt: skip
    found = {"address": address, "region": REGION}
    for name in ("owner", "stranger"):
        users.create_user(UserName=name)
        key = users.create_access_key(UserName=name)["AccessKey"]
        found[name] = [key["AccessKeyId"], key["SecretAccessKey"]]
    users.put_user_policy(UserName="owner", PolicyName="all", PolicyDocument=json.dumps(_ALL))
    requests.post(f"{address}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
    print(json.dumps(found), flush=True)
    sys.stdin.read()


main()
