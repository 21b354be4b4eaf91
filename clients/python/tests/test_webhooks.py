"""Signatures of webhooks."""

import base64
import hashlib
import hmac
import json
import unittest

from drover import errors, verify_webhook

OLD, NEW = (f"whsec_{base64.b64encode(bytes([byte]) * 32).decode()}" for byte in (1, 2))
BODY = json.dumps(
    {"id": "m-1", "type": "load.created", "timestamp": "2026-03-01T09:30:00.000Z", "data": {"load": {}}}
).encode()
NOW = 1_772_357_400


def signed(*secrets: str, body: bytes = BODY, at: int = NOW) -> dict[str, str]:
    """Returns the headers of a request as a service sends them."""
    signatures = []
    for secret in secrets:
        digest = hmac.new(base64.b64decode(secret[6:]), f"m-1.{at}.".encode() + body, hashlib.sha256).digest()
        signatures.append("v1," + base64.b64encode(digest).decode())
    return {"Webhook-Id": "m-1", "webhook-timestamp": str(at), "WEBHOOK-SIGNATURE": " ".join(signatures)}


class Signatures(unittest.TestCase):
    def test_genuine(self) -> None:
        for headers, secret in [
            (signed(OLD), OLD),
            (signed(OLD, NEW), OLD),
            (signed(OLD, NEW), NEW),
            (signed(NEW), [OLD, NEW]),
            (signed(OLD, at=NOW - 299), OLD),
            (signed(OLD, at=NOW + 299), OLD),
        ]:
            event = verify_webhook(headers, BODY, secret, now=NOW)
            self.assertEqual((event.id, event.type, event.data), ("m-1", "load.created", {"load": {}}))

    def test_a_known_signature(self) -> None:
        # The example of the Standard Webhooks specification.
        body = b'{"test": 2432232314}'
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        with self.assertRaises(ValueError) as caught:  # genuine, but not an event of Drover
            verify_webhook(headers, body, secret, now=1614265330)
        self.assertNotIsInstance(caught.exception, errors.InvalidSignature)

    def test_forged(self) -> None:
        cases = {
            "other secret": (signed(NEW), BODY),
            "other body": (signed(OLD), BODY + b" "),
            "too old": (signed(OLD, at=NOW - 301), BODY),
            "from the future": (signed(OLD, at=NOW + 301), BODY),
            "other id": ({**signed(OLD), "Webhook-Id": "m-2"}, BODY),
            "no signature": ({**signed(OLD), "WEBHOOK-SIGNATURE": ""}, BODY),
            "not ASCII": ({**signed(OLD), "WEBHOOK-SIGNATURE": "v1,\u00e9"}, BODY),
            "no time": ({**signed(OLD), "webhook-timestamp": "today"}, BODY),
            "no headers": ({}, BODY),
        }
        for name, (headers, body) in cases.items():
            with self.subTest(name), self.assertRaises(errors.InvalidSignature):
                verify_webhook(headers, body, OLD, now=NOW)

    def test_the_time_is_that_of_the_machine(self) -> None:
        with self.assertRaises(errors.InvalidSignature):
            verify_webhook(signed(OLD, at=1), BODY, OLD)

    def test_no_secret(self) -> None:
        for secret in ("", "whsec_", "whsec_!"):
            with self.subTest(secret), self.assertRaises(ValueError) as caught:
                verify_webhook(signed("whsec_"), BODY, secret, now=NOW)
            self.assertNotIn("!", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
