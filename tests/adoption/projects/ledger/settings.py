"""A ledger of somebody else, whose payouts `fulfilment` carries out: no broker, no Redis, no REST framework."""

import os
from datetime import timedelta

SECRET_KEY = "a-throw-away-key-of-a-test-project-that-serves-nobody"
DEBUG = True
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "shop.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
STATIC_URL = "static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick; this is a test

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "shop",
    "fulfilment",
    "idempotency",
]
AUTH_USER_MODEL = "shop.Person"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        **{name: os.environ[f"DB_{name}"] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")},
    }
}

IDEMPOTENCY = {"SCOPE": "shop.urls.tenant_and_person"}
FULFILMENT = {
    "HINT": None,  # no broker: `manage.py run_sweeps` does what beat and workers would
    "EVENT_HINT": None,
    "POLL_INTERVAL": timedelta(seconds=0.2),
    # The code for their bank would stand here; this one keeps its books in a file.
    "CONNECTORS": {
        "bank": {"CLASS": "fulfilment.testing.FakeConnector", "BOOKS": os.environ["BANK_BOOKS"]}
    },
    "WEBHOOKS": {
        "bank": {"CONNECTOR": "bank", "SECRETS": [os.environ["BANK_SECRET"]], "LIVEMODE": False}
    },
}
