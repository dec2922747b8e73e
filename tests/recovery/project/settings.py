"""The service with what its worst adopter sets: late acknowledgement, and redelivery within seconds."""

from ledgerline.settings import *  # noqa: F403
from ledgerline.settings import CELERY_BROKER_TRANSPORT_OPTIONS, FULFILMENT, INSTALLED_APPS, SANDBOX

INSTALLED_APPS = [*INSTALLED_APPS, "tests.recovery.project.apps.ProjectConfig"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_BROKER_TRANSPORT_OPTIONS = CELERY_BROKER_TRANSPORT_OPTIONS | {"visibility_timeout": 2}
FULFILMENT = FULFILMENT | {
    "LOOKUPS_PER_SECOND": 50.0,
    "CRASHES": 2,
    "CONNECTORS": {
        **FULFILMENT["CONNECTORS"],
        "kills_before_the_mark": {
            "CLASS": "fulfilment.connectors.sandbox.SandboxConnector",
            **SANDBOX,
        },
        "kills_in_the_call": {
            "CLASS": "tests.recovery.project.connectors.KillsInTheCall",
            **SANDBOX,
        },
    },
}
