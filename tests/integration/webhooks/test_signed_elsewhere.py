"""A body that another program wrote and signed: its bytes count, however odd they look."""

import base64
import json
import shutil
import subprocess
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from tests.integration.webhooks.support import SECRET, deliver, stored

pytestmark = pytest.mark.django_db

# Unicode escapes, an escaped slash, a name twice, 1.0, odd spacing and a newline at the end.
BODY = (
    rb'{ "id": "evt_first", "id":"evt_node",  "type":"a.b", "livemode":false, "account":"a\/b",'
    rb' "n":1.0, "e":"\u00e9 \ud83d\ude00" }'
    b"\n"
)
SIGN = """
const crypto = require("crypto");
const [key, body] = process.argv.slice(1).map(text => Buffer.from(text, "base64"));
const at = Math.floor(Date.now() / 1000);
const signed = Buffer.concat([Buffer.from(`evt_1.${at}.`), body]);
const made = crypto.createHmac("sha256", key).update(signed).digest("base64");
console.log(JSON.stringify({
  "webhook-id": "evt_1", "webhook-timestamp": String(at), "webhook-signature": "v1," + made,
}));
"""


@pytest.fixture
def headers() -> dict[str, str]:
    """Signed by node, or on a machine without it by the reference library: never by our own code."""
    node = shutil.which("node")
    if node is None:
        at = datetime.now(UTC)
        made = Webhook(SECRET).sign("evt_1", at, BODY.decode())
        stamp = str(int(at.timestamp()))
        return {"webhook-id": "evt_1", "webhook-timestamp": stamp, "webhook-signature": made}
    key, body = SECRET.removeprefix("whsec_"), base64.b64encode(BODY).decode()
    signed = subprocess.run([node, "-e", SIGN, key, body], capture_output=True, check=True)
    return json.loads(signed.stdout)


def test_the_bytes_that_another_program_signed_are_verified_and_kept(
    headers: dict[str, str],
) -> None:
    assert deliver(BODY, headers).status_code == 200
    assert bytes(stored(BODY).payload.body) == BODY


@pytest.mark.parametrize(
    "copy",
    [
        json.dumps(json.loads(BODY)).encode(),
        BODY.rstrip(b"\n"),
        BODY.replace(b":1.0", b":1"),
        BODY.replace(rb"\/", b"/"),
        BODY.replace(b"  ", b" "),
    ],
    ids=["parsed and written", "no newline", "1.0 as 1", "slash", "one space less"],
)
def test_a_copy_that_only_means_the_same_is_refused(headers: dict[str, str], copy: bytes) -> None:
    assert deliver(copy, headers).status_code == 401
