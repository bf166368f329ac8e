"""The site: its applications, middleware, templates, languages and static files."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from project.settings.environment import BASE_DIR, DATA_DIR, env
from project.unfold import UNFOLD  # noqa: F401  # read by django-unfold

DEBUG = env.bool("DEBUG", default=False)

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

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
    "apps.costs",
    "apps.conversations",
    "apps.webhooks",
    "apps.memory",
    "apps.profile",
    "apps.summaries",
    "apps.extraction",
    "apps.tidying",
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
    "apps.costs.middleware.ModelCallsMiddleware",
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
