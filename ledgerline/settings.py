"""Wiring of the service. Every deployment difference comes from the environment (see `env`)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from ledgerline import env, other_banks

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = env.flag("DEBUG")
SECRET_KEY = env.text("SECRET_KEY", "insecure-development-key-change-me-in-production")
ALLOWED_HOSTS = env.text("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1],testserver").split(",")
CSRF_TRUSTED_ORIGINS = [o for o in env.text("CSRF_TRUSTED_ORIGINS").split(",") if o]

INSTALLED_APPS = [
    "ledgerline.apps.LedgerlineConfig",  # first: its templates and commands win over Django's
    "ledgerline.bank.apps.BankConfig",
    "idempotency.apps.IdempotencyConfig",
    "fulfilment.apps.FulfilmentConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "ledgerline.middleware.RefuseNul",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "ledgerline.middleware.ContentSecurityPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "ledgerline.urls"
WSGI_APPLICATION = "ledgerline.wsgi.application"
AUTH_USER_MODEL = "bank.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
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

# --- Time-outs, from outside in: client > proxy > web server > statement > lock -------------------
# `ledgerline.checks` refuses a combination that breaks this order.
PROXY_TIMEOUT = env.seconds("PROXY_TIMEOUT", 25)
WEB_TIMEOUT = env.seconds("WEB_TIMEOUT", 20)
STATEMENT_TIMEOUT = env.seconds("STATEMENT_TIMEOUT", 10)
LOCK_TIMEOUT = env.seconds("LOCK_TIMEOUT", 3)
IDLE_IN_TRANSACTION_TIMEOUT = env.seconds("IDLE_IN_TRANSACTION_TIMEOUT", 15)


# How long POST /v1/transfers may wait for an outcome (`Prefer: wait=N`), and how many threads of one
# web process may do so: a quarter at most, or they would keep everybody else out.
LONGEST_WAIT = env.seconds("LONGEST_WAIT", 10)
WEB_THREADS = env.integer("WEB_THREADS", 4)  # of one process, as gunicorn's --threads
WAITING_THREADS = env.integer("WAITING_THREADS", WEB_THREADS // 4)


def _milliseconds(value: timedelta) -> int:
    return round(value.total_seconds() * 1000)


DATABASES = {"default": env.database("DATABASE_URL", "postgresql:///ledgerline")}
DATABASES["default"] |= {
    "ATOMIC_REQUESTS": False,  # the contract owns the one transaction of a guarded view
    "CONN_MAX_AGE": 300,
    "CONN_HEALTH_CHECKS": True,
    "OPTIONS": {
        "connect_timeout": "5",
        # A stopped process or a dead host must not hold a key's lock for hours: the server ends
        # its session after these times, so they bound how long a key can stay in progress.
        "options": (
            f"-c statement_timeout={_milliseconds(STATEMENT_TIMEOUT)}"
            f" -c lock_timeout={_milliseconds(LOCK_TIMEOUT)}"
            f" -c idle_in_transaction_session_timeout={_milliseconds(IDLE_IN_TRANSACTION_TIMEOUT)}"
            " -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
            " -c tcp_user_timeout=30000"
        ),
        **DATABASES["default"]["OPTIONS"],  # type: ignore[dict-item]  # what the URL says wins
    },
}

# --- Redis or Valkey: a cache of finished answers; it never decides --------------------------------
REDIS_URL = env.text("REDIS_URL", "redis://127.0.0.1:6379/0")
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {
            "CLIENT_CLASS": "django_redis.client.DefaultClient",
            # Never pickle: whoever can write to the cache could run code in the web server.
            "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            # Slow is as good as down: an answer is never kept waiting for its cache.
            "SOCKET_CONNECT_TIMEOUT": 0.2,
            "SOCKET_TIMEOUT": 0.2,
        },
    },
}

# --- Celery: messages are hints, rows decide -------------------------------------------------------
CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", "redis://127.0.0.1:6379/1")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False  # a dead broker must not hold an answer back; the poller repairs
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # for ever: a worker must outlive its broker
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_connect_timeout": 1,
    "socket_timeout": 5,
    "max_retries": 1,
}

IDEMPOTENCY = {
    "CACHE": "default",
    "TOKENS": "default",
    "LOCKS": "default",
    # while clients that send no keys yet are still about: they are served, and counted at /metrics
    "OBSERVE": env.flag("IDEMPOTENCY_OBSERVE"),
    # set again in each claim's transaction, so that they hold whatever the connection says
    "STATEMENT_TIMEOUT": STATEMENT_TIMEOUT,
    "LOCK_TIMEOUT": LOCK_TIMEOUT,
    "IDLE_TIMEOUT": IDLE_IN_TRANSACTION_TIMEOUT,
    "PROBLEM_BASE_URL": env.text("PROBLEM_BASE_URL", "/problems/"),
    # Of a request that calls a provider itself; a system check wants LEASE > DEADLINE + MARGIN.
    "LEASE": env.seconds("IDEMPOTENCY_LEASE", 30),
    "DEADLINE": env.seconds("IDEMPOTENCY_DEADLINE", 10),
    "MARGIN": env.seconds("IDEMPOTENCY_MARGIN", 5),
    "RECHECK_FIRST": env.seconds("IDEMPOTENCY_RECHECK_FIRST", 10),
    "RECHECK_LAST": env.seconds("IDEMPOTENCY_RECHECK_LAST", 3600),
    "CACHE_TTL": env.seconds("IDEMPOTENCY_CACHE_TTL", 86400),
    # A final answer is kept for 30 days; a retry that comes later is answered by its reference.
    "RETENTION": env.seconds("IDEMPOTENCY_RETENTION", 30 * 86400),
    "RETENTION_BATCH": env.integer("IDEMPOTENCY_RETENTION_BATCH", 1000),
}

METRICS_TOKEN = env.text("METRICS_TOKEN")  # without it there is no /metrics

POLL_INTERVAL = env.seconds("FULFILMENT_POLL_INTERVAL", 5)
# Keeping the house must not wait behind payments that wait for a slow provider: its own queue, and
# its own worker. Two processes, one of which a round of look-ups may occupy.
CELERY_TASK_ROUTES = {
    "fulfilment.dispatch": {"queue": "dispatch"},
    "fulfilment.*": {"queue": "keeping"},
    "idempotency.*": {"queue": "keeping"},
    "bank.*": {"queue": "keeping"},
}
CELERY_TASK_DEFAULT_QUEUE = "dispatch"
# A tick that waited longer than its interval is dropped: the next one does the same work.
CELERY_BEAT_SCHEDULE = {
    name: {
        "task": name,
        "schedule": POLL_INTERVAL,
        "options": {"expires": POLL_INTERVAL.total_seconds()},
    }
    for name in (
        "fulfilment.poll",
        "fulfilment.sweep",
        "fulfilment.look_up",
        "fulfilment.fetch",
        "fulfilment.apply_due",
        "idempotency.recover",
    )
}

# One provider process behind two connectors and the payments' checkouts.
SANDBOX = {
    "URL": env.text("SANDBOX_URL", "http://127.0.0.1:8090"),
    **env.secret("SECRET", "SANDBOX_SECRET", "sandbox-secret"),
    # Signs the provider's events, `whsec_` and base64; several, split by spaces, while one is replaced.
    "WEBHOOK_SECRETS": env.text("SANDBOX_WEBHOOK_SECRET").split(),
    # How long a booking may stay invisible to a look-up, and a request may be on its way.
    "VISIBLE_AFTER": env.seconds("SANDBOX_VISIBLE_AFTER", 1),
    "NOT_FOUND_FINAL_AFTER": env.seconds("SANDBOX_NOT_FOUND_FINAL_AFTER", 30),
}
FULFILMENT: dict[str, Any] = {
    "HINT": "fulfilment.tasks.hint",
    "LEASE": env.seconds("FULFILMENT_LEASE", 30),
    "TOTAL_DEADLINE": env.seconds("FULFILMENT_TOTAL_DEADLINE", 10),
    "MARGIN": env.seconds("FULFILMENT_MARGIN", 5),
    # 30 s, 2 m, 5 m, 15 m, 1 h, 3 h, 12 h, 24 h; the last distance repeats for ever
    "SCHEDULE": env.durations(
        "FULFILMENT_SCHEDULE", (30, 120, 300, 900, 3600, 10800, 43200, 86400)
    ),
    "CASE_DEADLINE": env.seconds("FULFILMENT_CASE_DEADLINE", 86400),
    "PENDING_DEADLINE": env.seconds("FULFILMENT_PENDING_DEADLINE", 3600),
    # A verdict by hand above this (minor units) needs a second person.
    "SECOND_PERSON_ABOVE": env.amounts(
        "FULFILMENT_SECOND_PERSON_ABOVE", "NGN=100000000,EUR=1000000,JPY=1000000"
    ),
    "POLL_INTERVAL": POLL_INTERVAL,
    # What providers said word for word, after the decision (90 days); digests stay for ever.
    "PAYLOADS_KEPT": env.seconds("FULFILMENT_PAYLOADS_KEPT", 90 * 86400),
    # From when on /readyz/machine, /metrics and the queue's page sound an alarm; the names and their
    # defaults stand in fulfilment/health/limits.py.
    "HEALTH": env.limits("FULFILMENT_HEALTH"),
    "CONNECTORS": {
        "sandbox": {"CLASS": "fulfilment.connectors.sandbox.SandboxConnector", **SANDBOX},
        "airtime": {"CLASS": "fulfilment.connectors.sandbox.AirtimeConnector", **SANDBOX},
        **other_banks.connectors(),
    },
    "WEBHOOKS": other_banks.mailboxes(),
    "MAILBOX_EVERY": env.seconds("FULFILMENT_MAILBOX_EVERY", 60),
}
# Without a secret nobody can be believed, so there is no address for events either (404).
# A blank one is a mistake, and a system check says so.
if env.named("SANDBOX_WEBHOOK_SECRET"):
    FULFILMENT["WEBHOOKS"]["sandbox"] = {
        "CONNECTOR": "sandbox",
        "SECRETS": SANDBOX["WEBHOOK_SECRETS"],
        "LIVEMODE": False,  # it moves no money, and its events say so
        "ACCOUNTS": {"acct_sandbox": ("sandbox", "airtime")},
    }

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["ledgerline.tokens.BearerToken"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["ledgerline.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "idempotency.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "ledgerline.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

# How much one user may ask in a time, replays included. Blank: as much as they like, and the cache is
# not asked about it. Each request costs two calls to the cache; while that is down, all may pass.
if THROTTLE_RATE := env.rate("THROTTLE_RATE"):
    REST_FRAMEWORK |= {
        "DEFAULT_THROTTLE_CLASSES": ["idempotency.throttling.UserRate"],
        "DEFAULT_THROTTLE_RATES": {"user": THROTTLE_RATE},
    }

# --- The bank --------------------------------------------------------------------------------------
TOKEN_LIFETIME = env.seconds("TOKEN_LIFETIME", 300)
TOKEN_SECRET = env.text("TOKEN_SECRET", SECRET_KEY)
# The largest single transfer per currency, in minor units; a currency that is not listed is refused.
TRANSFER_LIMITS = {"NGN": 100_000_000_00, "EUR": 1_000_000_00, "JPY": 100_000_000}
# Above this a transfer needs a token of POST /v1/transfer-confirmations; an unlisted currency never.
CONFIRM_ABOVE = env.amounts("CONFIRM_ABOVE", "NGN=100000000,EUR=1000000,JPY=1000000")
BANK_CONNECTORS = other_banks.routes()  # by the bank's code; to all others by the next line
EXTERNAL_CONNECTOR = "sandbox"
# Payments: the desk at which customers pay, the largest sum per currency, and who sells the airtime.
CHECKOUT_DESK = {"CLASS": "fulfilment.connectors.sandbox.CheckoutDesk", **SANDBOX}
PAYMENT_LIMITS = {"NGN": 100_000_00, "EUR": 200_00}
AIRTIME_CONNECTOR = "airtime"

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-gb"
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
WHITENOISE_USE_FINDERS = True  # no collectstatic step in the demo
WHITENOISE_AUTOREFRESH = False

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = env.flag("SECURE_COOKIES")
CSRF_COOKIE_SECURE = env.flag("SECURE_COOKIES")
X_FRAME_OPTIONS = "DENY"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "ledgerline.logs.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("LOG_LEVEL", "INFO")},
    "loggers": {
        "httpx2": {"level": "WARNING"},  # one line per call at INFO, with its URL
    },
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Ledgerline",
    "DESCRIPTION": "Payments that are applied once.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
}
