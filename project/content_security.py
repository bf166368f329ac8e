"""What a browser may do with our pages: one Content-Security-Policy for all, and what single pages need beyond it.

No page runs an inline script or an inline handler, and none evaluates text. `apps.core.middleware` sends the policy
of the longest prefix in `make_policies` that the path begins with. What is no page gets `NOTHING`.
"""

from __future__ import annotations

from typing import Any

from csp.constants import NONCE, NONE, SELF, UNSAFE_INLINE

PAGE: dict[str, Any] = {
    "default-src": [NONE],
    "script-src": [SELF],
    "style-src": [SELF],
    "img-src": [SELF, "data:"],
    "font-src": [SELF],
    "connect-src": [SELF],
    "object-src": [NONE],
    "base-uri": [NONE],
    "form-action": [SELF],
    "frame-ancestors": [NONE],
}

PANEL = PAGE | {
    "style-src": [SELF, NONCE],  # unfold's element with the colours of the theme
    "style-src-attr": [UNSAFE_INLINE],  # lengths of bars, and what Select2 sets: no script comes in by these
}

CONSENT = PAGE | {"form-action": None}
"""The form leads back to the application: to any site that registered, and from there to wherever that site leads."""


def make_policies(*, signs_in_elsewhere: bool) -> dict[str, dict[str, Any]]:
    """Return the policies that differ, by the beginning of the path.

    Where people sign in at another server (OIDC), the log-in page has a form that leads there, and from there perhaps
    to a third one: browsers hold every redirect that follows a form to `form-action`.
    """
    policies = {"/admin/": PANEL, "/oauth/authorize": CONSENT}
    return policies | {"/login": PAGE | {"form-action": None}} if signs_in_elsewhere else policies


NOTHING = "default-src 'none'; frame-ancestors 'none'"
"""For JSON, files and streams: were one of them ever shown as a document, it could do nothing."""

_UNUSED = (
    "accelerometer autoplay camera clipboard-read display-capture encrypted-media fullscreen geolocation gyroscope hid"
    " idle-detection local-fonts magnetometer microphone midi payment picture-in-picture screen-wake-lock serial usb"
    " xr-spatial-tracking"
)

PERMISSIONS = ", ".join(["clipboard-write=(self)", *(f"{feature}=()" for feature in _UNUSED.split())])
"""The Permissions-Policy: our pages copy to the clipboard. Reading aloud needs no permission."""
