"""What programs come in by: the REST API, imported files, MCP, OAuth for applications that connect alone; webhooks."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from project.openapi import SPECTACULAR_SETTINGS  # noqa: F401  # read by drf-spectacular
from project.settings.environment import env

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

# Where webhooks may go: nowhere (``off``), to ``public`` addresses, or to ``private`` ones, too.
WEBHOOKS = env.str("WEBHOOKS", default="") or "off"
if WEBHOOKS not in ("off", "public", "private"):
    raise ImproperlyConfigured(f"WEBHOOKS is {WEBHOOKS!r}. It must be one of: off, public, private.")

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
