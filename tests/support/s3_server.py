"""An S3 server of this machine's own, for tests: moto, in an environment of its own.

``python s3_server.py`` prints a line of JSON, once it answers: its address and the keys of two
users. The first may do everything; the second may list and read nothing. It ends with its input.
"""

import json
import os
import sys

REGION = "eu-central-1"

os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "inf"  # until there are users

import boto3  # noqa: E402
import requests  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

_ALL = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}


def main() -> None:
    """Serve until standard input ends."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    keys = {"endpoint_url": address, "region_name": REGION,
            "aws_access_key_id": "first", "aws_secret_access_key": "first"}  # fmt: skip
    users = boto3.client("iam", **keys)
    found = {"address": address, "region": REGION}
    for name in ("owner", "stranger"):
        users.create_user(UserName=name)
        key = users.create_access_key(UserName=name)["AccessKey"]
        found[name] = [key["AccessKeyId"], key["SecretAccessKey"]]
    users.put_user_policy(UserName="owner", PolicyName="all", PolicyDocument=json.dumps(_ALL))
    requests.post(f"{address}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
    print(json.dumps(found), flush=True)
    sys.stdin.read()
    server.stop()


main()
