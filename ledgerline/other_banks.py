"""Which connector pays to which other bank, and the bank that is asked to: from the environment.

Without `ISO20022_URL` there is no such bank, and all payments go by `EXTERNAL_CONNECTOR`.
"""

from typing import Any

from ledgerline import env

ISO20022 = "iso20022"
_DAY = 86400


def connectors() -> dict[str, dict[str, Any]]:
    """What `FULFILMENT["CONNECTORS"]` has for it. The connector refuses at start what it cannot use."""
    if not env.text("ISO20022_URL"):
        return {}
    return {ISO20022: {"CLASS": "fulfilment.connectors.iso20022.Iso20022Connector", **_bank()}}


def mailboxes() -> dict[str, dict[str, Any]]:
    """What `FULFILMENT["WEBHOOKS"]` has for it: it sends nothing by itself, its messages are fetched."""
    return {name: {"CONNECTOR": name} for name in connectors()}


def routes() -> dict[str, str]:
    """The connector by the bank's code, in capitals (`BANK_CONNECTORS=MOCKNL2A=iso20022`)."""
    return {bank.upper(): name for bank, name in env.pairs("BANK_CONNECTORS").items()}


def _bank() -> dict[str, Any]:
    return {
        "URL": env.text("ISO20022_URL"),
        "USER": env.text("ISO20022_USER"),
        **env.secret("PASSWORD", "ISO20022_PASSWORD"),
        "DEBTOR": {
            "name": env.text("ISO20022_DEBTOR_NAME"),
            "iban": env.text("ISO20022_DEBTOR_IBAN"),
            "bic": env.text("ISO20022_DEBTOR_BIC"),
        },
        # What banks promise differs: ask yours. As cautious as the connector's own defaults.
        "VISIBLE_AFTER": env.seconds("ISO20022_VISIBLE_AFTER", 120),
        "NOT_FOUND_FINAL_AFTER": env.seconds("ISO20022_NOT_FOUND_FINAL_AFTER", 3600),
        "DEDUPE_WINDOW": env.seconds("ISO20022_DEDUPE_WINDOW", 30 * _DAY),
        "LATE_REVERSAL_HORIZON": env.seconds("ISO20022_LATE_REVERSAL_HORIZON", 30 * _DAY),
    }
