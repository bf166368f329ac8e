from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView
from django_prometheus.exports import ExportToDjangoView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from apps.accounts import login
from apps.accounts.api import GuardedView
from apps.conversations.queue import count_backlog
from apps.core.health import healthz, livez, readyz

urlpatterns = [
    path("", include("apps.chat.page")),
    path("chat/", include("apps.chat.urls")),
    path("memory/", include("apps.memory.urls")),
    path("memory/", include("apps.costs.urls")),
    path("memory/", include("apps.tidying.urls")),
    path("", include("apps.accounts.urls")),
    path("", include("apps.profile.urls")),
    path("", include("apps.summaries.urls")),
    path("", include("apps.webhooks.urls")),
    path("", include("apps.doors.urls")),
    path("login", login.LoginPage.as_view(), name="login"),
    path("login", login.LoginPage.as_view(), name="account_login"),  # as django-allauth calls it
    path("login/code", login.CodePage.as_view(), name="mfa_authenticate"),
    path("login/oidc", login.start_oidc, name="oidc"),
    path("login/oidc/callback", login.finish_oidc, name="oidc_callback"),
    path("login/reset", login.ResetAskPage.as_view(), name="password_reset"),
    path(
        "login/reset/sent",
        auth.PasswordResetDoneView.as_view(template_name="registration/reset_sent.html"),
        name="password_reset_done",
    ),
    path(
        "login/reset/done",
        auth.PasswordResetCompleteView.as_view(template_name="registration/reset_done.html"),
        name="password_reset_complete",
    ),
    path("login/reset/<str:uidb64>/<str:token>", login.ResetSetPage.as_view(), name="password_reset_confirm"),
    path("logout", auth.LogoutView.as_view(), name="logout"),
    path("favicon.ico", RedirectView.as_view(url=static("chat/mark.svg"))),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path(
        "api/schema",
        GuardedView.as_view(view=SpectacularAPIView.as_view(), setting="API_DOCS_ACCESS"),
        name="schema",
    ),
    path(
        "api/docs",
        GuardedView.as_view(
            view=SpectacularSwaggerSplitView.as_view(url_name="schema"), setting="API_DOCS_ACCESS", is_page=True
        ),
        name="docs",
    ),
    path("healthz", healthz, {"count_backlog": count_backlog}, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("livez", livez, name="livez"),
    path(
        "metrics",
        GuardedView.as_view(view=ExportToDjangoView, setting="METRICS_ACCESS", bearer_setting="METRICS_TOKEN"),
        name="metrics",
    ),
]

handler400 = "apps.doors.openai.base.bad_request"
handler404 = "apps.doors.openai.base.page_not_found"
handler500 = "apps.doors.openai.base.server_error"
