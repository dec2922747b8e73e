"""What the apps need in the settings of a project; the rest is as in any Django project."""

import os

SECRET_KEY = os.environ.get("SECRET_KEY", "for-development-only")
ROOT_URLCONF = "shop.urls"
COURIER_URL = os.environ.get("COURIER_URL", "http://127.0.0.1:8099")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "idempotency",  # then: manage.py migrate
    "shop",
]
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
        **{name: os.environ.get(f"DB_{name}", "") for name in ("NAME", "USER", "HOST", "PORT")},
    }
}
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0"),
        "OPTIONS": {
            "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            "SOCKET_CONNECT_TIMEOUT": 0.2,  # slow is as good as down
            "SOCKET_TIMEOUT": 0.2,
        },
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"

IDEMPOTENCY = {
    "CACHE": "default",  # may be left out: replays come from PostgreSQL then
    "OBSERVE": bool(os.environ.get("OBSERVE")),  # only until every client sends keys
    "NULLS_ALLOWED": {"shop.Item.barcode": "Many items have none, and none is no name."},
}
REST_FRAMEWORK = {"DEFAULT_SCHEMA_CLASS": "idempotency.openapi.AutoSchema"}
