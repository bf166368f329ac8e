"""What a browser may do with our pages: one Content-Security-Policy for all, and what single pages need beyond it.

No page runs an inline script or an inline handler, and none evaluates text. `apps.core.middleware` sends the policy
of the longest prefix in `POLICIES` that the path begins with. What is no page gets `NOTHING`.
"""

from __future__ import annotations

from typing import Any

from csp.constants import NONE, SELF, UNSAFE_INLINE

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
    "style-src-attr": [UNSAFE_INLINE],  # lengths of bars, and what Select2 sets: no script comes in by these
}

# A form leads to another site, and from there to wherever that leads: browsers hold the policy against each step.
LEAVING = PAGE | {"form-action": None}

# The consent page leads back to the application that asked; so does the log-in page, or elsewhere to sign in.
POLICIES = {"/admin/": PANEL, "/oauth/authorize": LEAVING, "/login": LEAVING}

# For JSON, files and streams: were one of them ever shown as a document, it could do nothing.
NOTHING = "default-src 'none'; frame-ancestors 'none'"

_UNUSED = (
    "accelerometer autoplay camera clipboard-read display-capture encrypted-media fullscreen geolocation gyroscope hid"
    " idle-detection local-fonts magnetometer microphone midi payment picture-in-picture screen-wake-lock serial usb"
    " xr-spatial-tracking"
)

# The Permissions-Policy: our pages copy to the clipboard. Reading aloud needs no permission.
PERMISSIONS = ", ".join(["clipboard-write=(self)", *(f"{feature}=()" for feature in _UNUSED.split())])
