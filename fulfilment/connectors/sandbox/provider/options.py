"""The command line of the provider."""

import argparse
import os
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """All options; secrets can also come from the environment."""
    options = argparse.ArgumentParser(prog="sandbox provider", description="A payment provider.")
    options.add_argument(
        "--port", type=_port, required=True, help="on 127.0.0.1; 0 takes a free one"
    )
    options.add_argument("--books", type=Path, required=True, help="file the payments are kept in")
    options.add_argument(
        "--secret",
        default=os.environ.get("SANDBOX_SECRET", "sandbox-secret"),
        help="what callers must present (default: the environment's SANDBOX_SECRET)",
    )
    options.add_argument("--delay", type=_seconds, default=0.0, help="seconds before each answer")
    options.add_argument("--seed", default="", help="goes into the ids, so that they differ")
    _add_webhooks(options)
    return options


def _add_webhooks(options: argparse.ArgumentParser) -> None:
    options.add_argument(
        "--webhook-url",
        default=os.environ.get("SANDBOX_WEBHOOK_URL", ""),
        help="where events are delivered (default: the environment's SANDBOX_WEBHOOK_URL)",
    )
    options.add_argument(
        "--webhook-secret",
        default=os.environ.get("SANDBOX_WEBHOOK_SECRET", ""),
        help="whsec_…, signs them (default: the environment's SANDBOX_WEBHOOK_SECRET)",
    )
    options.add_argument(
        "--webhook-delay",
        type=_seconds,
        default=0.1,
        help="seconds from a booking to its event, so that the answer usually comes first",
    )


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 3600:
        raise ValueError
    return seconds
