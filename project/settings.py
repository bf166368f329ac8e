"""All configuration, read from the environment (see .env.example); every default works on a fresh machine."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import environ
from django.utils.translation import gettext_lazy as _
from kombu import Queue

from apps.core.access import Access
from apps.core.logs import make_logging
from apps.core.secret_key import get_former_keys, get_secret_key
from apps.embedded import layout as embedded
from project import content_security
from project.openapi import SPECTACULAR_SETTINGS  # noqa: F401  # read by drf-spectacular
from project.unfold import UNFOLD  # noqa: F401  # read by django-unfold

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env.smart_cast = False
if (BASE_DIR / ".env").is_file():
    env.read_env(BASE_DIR / ".env")

DATA_DIR = Path(env.str("JIYI_DATA_DIR", default="") or BASE_DIR / ".data").resolve()
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or get_secret_key(DATA_DIR)
SECRET_KEY_FALLBACKS = [*env.list("SECRET_KEY_FALLBACKS", default=[]), *get_former_keys(DATA_DIR)]
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# Applications

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "apps.panel.apps.PanelSiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "knox",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "oauth2_provider",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "django_structlog",
    "django_prometheus",
    "apps.core",
    "apps.embedded",
    "apps.connections",
    "apps.accounts",
    "apps.conversations",
    "apps.memory",
    "apps.profile",
    "apps.summaries",
    "apps.extraction",
    "apps.chat",
    "apps.doors",
    "apps.panel",
    "apps.backup",
]

MIDDLEWARE = [
    "apps.core.middleware.PrometheusBeforeMiddleware",
    "apps.core.middleware.SecurityMiddleware",
    "apps.core.middleware.ContentSecurityPolicyMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "apps.core.middleware.NoStoreMiddleware",
    "apps.core.middleware.UnkeptBodyMiddleware",
    "apps.core.middleware.SessionMiddleware",
    "apps.core.middleware.LocaleMiddleware",
    "apps.core.middleware.CommonMiddleware",
    "apps.core.middleware.CsrfViewMiddleware",
    "apps.core.middleware.AuthenticationMiddleware",
    "apps.accounts.login.SessionUseMiddleware",
    "apps.panel.middleware.PanelAuthorMiddleware",
    "apps.core.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "apps.core.middleware.XFrameOptionsMiddleware",
    "apps.core.middleware.RequestLogMiddleware",
    "apps.doors.token_lockout.TokenLockoutMiddleware",
    "apps.core.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "project.urls"
ASGI_APPLICATION = "project.asgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.core.access.offer_api_docs",
                "apps.doors.imports.services.offer_formats",
            ],
        },
    }
]

# Stores

DATABASE_URL = env.str("DATABASE_URL", default="") or embedded.database_url(DATA_DIR)
REDIS_URL = env.str("REDIS_URL", default="") or embedded.redis_url(DATA_DIR)


def _configure_database(url: str) -> dict[str, Any]:
    read: dict[str, Any] = env.db_url_config(url)
    return {
        **read,
        "HOST": unquote(read["HOST"]),  # a socket's folder stands percent-encoded in the URL
        "ENGINE": "apps.core.postgresql",
        "CONN_MAX_AGE": 0,
        "OPTIONS": {
            **read.get("OPTIONS", {}),
            "prepared_statements": env.bool("DATABASE_PREPARED", default=True),
        },
    }


DATABASES = {"default": _configure_database(DATABASE_URL)}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "min_size": 2,
    "max_size": env.int("DATABASE_POOL_SIZE", default=16),
    "timeout": 10,  # seconds until a request that finds no connection is told to try again
}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "apps.core.cache.BreakingCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_timeout": 2},  # a server that hangs is given up, and then not asked for a while
    }
}

# Accounts

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["apps.accounts.login.PasswordBackend"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "chat"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Guessing: attempts are counted by apps.accounts.services.login_lockout

# How many wrong passwords in a row for one account from one address, before no more are looked at for a while.
LOGIN_FAILURE_LIMIT = env.int("LOGIN_FAILURE_LIMIT", default=5)

# The same for one address, whatever the accounts.
LOGIN_FAILURE_LIMIT_ADDRESS = env.int("LOGIN_FAILURE_LIMIT_ADDRESS", default=30)

# The same for one account, from wherever.
LOGIN_FAILURE_LIMIT_ACCOUNT = env.int("LOGIN_FAILURE_LIMIT_ACCOUNT", default=50)

# How long such a while is. Who tries meanwhile does not make it longer.
LOGIN_COOL_OFF_MINUTES = env.int("LOGIN_COOL_OFF_MINUTES", default=15)

# How many wrong tokens from one address in a minute, before further unknown ones are answered 429.
TOKEN_FAILURES_PER_MINUTE = env.int("TOKEN_FAILURES_PER_MINUTE", default=60)

# How many proxies stand before the server, each of which appends to X-Forwarded-For. 0: the header is not read.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0)

KNOX_TOKEN_MODEL = "accounts.ApiToken"  # noqa: S105 (the name of a model)
MIGRATION_MODULES = {"knox": None}  # its own token table stays unmade: ours takes its place
REST_KNOX = {"TOKEN_TTL": None, "AUTH_HEADER_PREFIX": "Bearer", "TOKEN_MODEL": KNOX_TOKEN_MODEL}

# Logging in step by step: django-allauth, with pages of our own and without its sign-up

ACCOUNT_ADAPTER = "apps.accounts.login.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*"]
ACCOUNT_RATE_LIMITS = False  # attempts are counted above
MFA_ADAPTER = "apps.accounts.login.TwoFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Jiyi"

# Another service that people sign in with, such as ``https://login.example.org/realms/staff``; empty: none.
OIDC_ISSUER = env.str("OIDC_ISSUER", default="").rstrip("/")

OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
OIDC_NAME = env.str("OIDC_NAME", default="") or "single sign-on"
# Whether who signs in for the first time gets an account. If not, people connect the one they have in the panel.
OIDC_AUTO_CREATE = env.bool("OIDC_AUTO_CREATE", default=False)

# Whose verified addresses may sign in that way; empty: everybody's, and those without.
OIDC_ALLOWED_DOMAINS = [domain.lower().lstrip("@") for domain in env.list("OIDC_ALLOWED_DOMAINS", default=[])]

SOCIALACCOUNT_ADAPTER = "apps.accounts.login.SignInAdapter"
SOCIALACCOUNT_AUTO_SIGNUP = True  # as far as the adapter lets anybody
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False  # nobody gets into an account by an address
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5

# Seconds that a link to set a new password works.
PASSWORD_RESET_TIMEOUT = 86_400

# Mail, for links to set a new password

_mail = env.str("EMAIL_URL", default="")
SENDS_MAIL = bool(_mail)
vars().update(env.email_url_config(_mail or "dummymail://"))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="") or "jiyi@localhost"

# API

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.doors.mcp.oauth.OAuthAuthentication",
        "apps.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "apps.accounts.authentication.HasScope",
    ],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apps.core.fields.JSONOnly",
    "DEFAULT_PARSER_CLASSES": ["apps.core.fields.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "apps.core.pagination.Pagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "apps.core.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": [
        "apps.accounts.authentication.TokenThrottle",
        "apps.accounts.authentication.UserThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {"user": env.str("THROTTLE_RATE", default="") or None},
    "EXCEPTION_HANDLER": "apps.core.http.handle_exception",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

# Applications that connect by themselves: MCP and OAuth

# Where clients reach this server, such as ``https://jiyi.example.org``; else what the Host of each request says.
PUBLIC_URL = env.str("PUBLIC_URL", default="").rstrip("/")

# The largest file that a person may bring. Files are not held in memory, so the limit above does not count.
IMPORT_MAX_BYTES = env.int("IMPORT_MAX_BYTES", default=200 * 1024 * 1024)

# Web pages that may use ``/mcp`` from a browser, such as ``https://tool.example.org``. Programs send no origin.
MCP_ALLOWED_ORIGINS = env.list("MCP_ALLOWED_ORIGINS", default=[])

# How many applications may register from one address; anybody can, and it gives them nothing without a consent.
OAUTH_REGISTRATIONS_PER_HOUR = env.int("OAUTH_REGISTRATIONS_PER_HOUR", default=30)

OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth2_provider.Application"
# Whatever the client: authorization code and PKCE with S256, tokens stored as digests, refresh tokens used once.
OAUTH2_PROVIDER = {
    "SCOPES": {"read": _("Read memories."), "write": _("Read, add, change and delete memories.")},
    "DEFAULT_SCOPES": ["read", "write"],
    "OIDC_ISS_ENDPOINT": PUBLIC_URL,
    "OAUTH2_SERVER_CLASS": "oauthlib.oauth2.WebApplicationServer",
    "OAUTH2_VALIDATOR_CLASS": "apps.doors.mcp.oauth.Validator",
    "OAUTH2_BACKEND_CLASS": "apps.doors.mcp.oauth.Backend",
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
    "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": ["none"],
    "ACCESS_TOKEN_GENERATOR": "apps.doors.mcp.oauth.make_access_token",
    "REFRESH_TOKEN_GENERATOR": "apps.doors.mcp.oauth.make_refresh_token",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 3_600,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 30 * 86_400,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 30,  # for windows of one client that refresh at once
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "DCR_ENABLED": True,
    "CIMD_ENABLED": env.bool("OAUTH_CLIENT_ID_METADATA", default=True),
    "CIMD_METADATA_FETCHER": "apps.doors.mcp.oauth_views.MetadataFetcher",
    "CIMD_REGISTRATION_PERMISSION_CLASSES": ["apps.doors.mcp.oauth_views.OnConsentOnly"],
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
}

# Language and time

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

# Static files

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
_LIBRARIES = BASE_DIR / "frontend" / "node_modules"
# Our own files, and what npm installed (frontend/package.json): what the chat page renders replies with, and the
# panel's Alpine.
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("vendor/marked", _LIBRARIES / "marked" / "lib"),
    ("vendor/dompurify", _LIBRARIES / "dompurify" / "dist"),
    ("vendor/katex", _LIBRARIES / "katex" / "dist"),
    ("vendor/alpine", _LIBRARIES / "@alpinejs" / "csp" / "dist"),
    ("vendor/highlight", _LIBRARIES / "@highlightjs" / "cdn-assets" / "es"),
]

SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = DEBUG

# Models

OPENAI_API_KEY = env.str("OPENAI_API_KEY", default="")
OPENAI_BASE_URL = env.str("OPENAI_BASE_URL", default="")
CHAT_MODEL = env.str("CHAT_MODEL", default="")
# Upper bound of one reply, so that a model in a loop ends; 0 leaves it to the server.
CHAT_MAX_TOKENS = env.int("CHAT_MAX_TOKENS", default=2_000) or None

# The same for one answer in background work; one that is cut off gets twice as many.
BACKGROUND_MAX_TOKENS = env.int("BACKGROUND_MAX_TOKENS", default=2_000) or None

# What answers when no model is connected: a class that makes a `apps.core.llm.types.ChatModel`.
OFFLINE_CHAT_MODEL = "apps.offline.model.OfflineModel"

# What finds the models that were connected in the panel: a `apps.core.llm.client.Directory`.
MODEL_DIRECTORY = "apps.connections.services.find_endpoints"

EMBEDDING_MODEL = env.str("EMBEDDING_MODEL", default="")
EMBEDDING_BASE_URL = env.str("EMBEDDING_BASE_URL", default="")

# The turn

# Defaults of run-time settings given in the environment, as MEMORY_<NAME> (G1).
MEMORY_ENVIRONMENT = {name: value for name, value in env.ENVIRON.items() if name.startswith("MEMORY_")}

USE_MEMORY_EMOTION_SYSTEM = env.bool("USE_MEMORY_EMOTION_SYSTEM", default=True)
# How long a message may be `pending` before it counts as failed and can be retried (C6). A reply that comes later is
# stored all the same, unless the message was retried meanwhile.
TURN_LEASE_SECONDS = env.int("TURN_LEASE_SECONDS", default=180)

# Background work

# How long a claim on work holds, and how long a task may take. Work of a worker that was lost and never came back is
# due again after it; a model that needs longer for a call needs more.
WORK_LEASE_SECONDS = env.int("WORK_LEASE_SECONDS", default=300)

# How long work that came to nothing is put off the first time; then twice as long each time, up to an hour.
WORK_RETRY_SECONDS = env.float("WORK_RETRY_SECONDS", default=30)

# How many processes `manage.py up` gives to work that waits for the chat model.
MODEL_WORKERS = env.int("MODEL_WORKERS", default=2)

# How many tokens of known memories the extracting model is shown: all of about a hundred, else the nearest.
EXTRACTION_KNOWN_TOKENS = env.int("EXTRACTION_KNOWN_TOKENS", default=5_000)

CELERY_BROKER_URL = embedded.broker_url(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 600
CELERY_TASK_SOFT_TIME_LIMIT = 540
CELERY_TASK_DEFAULT_QUEUE = "celery"
# Periodic work, embedding, and what waits for the chat model: a slow model holds up only its own.
CELERY_TASK_QUEUES = [Queue(name) for name in ("celery", "embedding", "model")]

CELERY_TASK_ROUTES = {
    "apps.extraction.tasks.embed": {"queue": "embedding"},
    "apps.extraction.tasks.extract": {"queue": "model"},
    "apps.extraction.tasks.summarize": {"queue": "model"},
    "apps.memory.tasks.embed_memories": {"queue": "embedding"},
    "apps.memory.tasks.change_embedding_model": {"queue": "embedding"},
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# KiB. A child that has grown beyond it is replaced after its task; with the local embedder it takes a third of it.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 1_000_000

CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,  # above the task time limit, or a long task would be delivered twice
    "socket_connect_timeout": 5,
    "socket_timeout": 15,  # a broker that hangs is given up; workers ask it for tasks every second
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    task.rpartition(".")[2]: {
        "task": task,
        "schedule": timedelta(seconds=seconds),
        "options": {"expires": seconds},  # a worker that was away does not find a heap of them
    }
    for task, seconds in (
        ("apps.chat.tasks.fail_abandoned_turns", 30),
        ("apps.memory.tasks.expire_working_memory", 60),
        ("apps.memory.tasks.embed_memories", 30),
        ("apps.memory.tasks.change_embedding_model", 10),
        ("apps.memory.tasks.evict_memories", 600),
        ("apps.memory.tasks.index_large_collections", 600),
        ("apps.memory.tasks.apply_retention", 86_400),
        ("apps.chat.tasks.delete_idle_temporary_sessions", 60),
        ("apps.extraction.tasks.sweep", 10),
        ("apps.doors.tasks.clear_oauth", 86_400),
        ("apps.accounts.tasks.tidy_logins", 86_400),
        ("apps.doors.tasks.run_imports", 10),
    )
}

# Safety

# Whether browsers reach us over TLS only, at a proxy that says so in X-Forwarded-Proto and lets no client say it.
HTTPS = env.bool("HTTPS", default=False)

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS and env.bool("HTTPS_REDIRECT", default=True)
# What the machines beside us ask for, past the proxy.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^livez$", r"^readyz$", r"^metrics$"]

# For how long a browser that was here once asks for nothing but https. There is no taking it back.
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=30 * 86_400) if HTTPS else 0

SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = False  # of a domain that may be others' too
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {"DIRECTIVES": content_security.PAGE}
CONTENT_SECURITY_POLICY_BY_PATH = content_security.POLICIES
CONTENT_SECURITY_POLICY_OF_NO_PAGE = content_security.NOTHING
PERMISSIONS_POLICY = content_security.PERMISSIONS

METRICS_ACCESS = Access.read("METRICS_ACCESS", env.str("METRICS_ACCESS", default="") or Access.LOCAL)
# What a scraper elsewhere sends as ``Authorization: Bearer <token>``; it opens nothing else. Empty: there is none.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

API_DOCS_ACCESS = Access.read("API_DOCS_ACCESS", env.str("API_DOCS_ACCESS", default="") or Access.LOCAL)

# Most are of `check --deploy`, which is silent with HTTPS=true. HSTS for subdomains and preloading are left to the
# proxy: the domain may be others' too, and there is hardly a way back.
SILENCED_SYSTEM_CHECKS = [
    "oauth2_provider.E001",  # the second refresh gets tokens of its own (apps/doors/mcp/oauth.py)
    "security.W001",  # Django's middleware by its own name: ours are subclasses (apps/core/middleware.py)
    "security.W002",  # the same
    "security.W003",  # the same
    "security.W010",  # cookies without HTTPS: what core.W001 says, with what to do about it
    "oauth2_provider.W008",  # redirects to plain http: only to loopback, where native applications listen (RFC 8252)
]

# Logs: IDs, never text (R3)

DJANGO_STRUCTLOG_USER_ID_FIELD = None  # reading it would cost two queries in every request of a browser
LOG_LEVEL = env.str("LOG_LEVEL", default="") or "WARNING"
LOGGING = make_logging(level=LOG_LEVEL, as_json=env.bool("LOG_JSON", default=False))
