"""How people log in: passwords, guesses, the second factor, single sign-on, tokens, and mail for a lost password."""

from __future__ import annotations

from project.settings.environment import env

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
