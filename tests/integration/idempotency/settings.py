"""The app alone, without the bank: what an adopter of `idempotency` has installed."""

from ledgerline import env

SECRET_KEY = "test"
INSTALLED_APPS = [
    "idempotency.apps.IdempotencyConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
]
DATABASES = {"default": env.database("DATABASE_URL", "postgresql:///ledgerline")}
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": env.text("REDIS_URL"),
        "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 0.2, "SOCKET_TIMEOUT": 0.2},
    }
}
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": ["templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
IDEMPOTENCY = {"CACHE": "default"}
ROOT_URLCONF = "tests.integration.idempotency.urls"
STATIC_URL = "static/"
USE_TZ = True
