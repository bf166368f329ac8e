"""TLS, cookies, what browsers may do with our pages, who may read metrics and documents, and what logs hold."""

from __future__ import annotations

from apps.core.access import Access
from apps.core.logs import make_logging
from project import content_security
from project.settings.environment import env

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
