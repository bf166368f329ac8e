"""The tables of a person's data in this app (R2, R3), and those that an erasure leaves.

What lets applications in belongs to the account, as its API tokens do. A file that is being imported is the person's
already, and reports of imports are of this installation: an export of everything restores neither.
"""

from __future__ import annotations

from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_device_grant_model,
    get_grant_model,
    get_id_token_model,
    get_refresh_token_model,
)

from apps.accounts.services.personal_data import PersonalTable, keep_tables, register_tables
from apps.doors.models import ConnectedApp, ImportItem, ImportPart, PastImport, StoredResponse

register_tables(
    PersonalTable(StoredResponse),
    PersonalTable(PastImport, restored=False),
    PersonalTable(ImportItem, restored=False),
    PersonalTable(ImportPart, restored=False, not_exported=("data",)),
)

keep_tables(
    {
        ConnectedApp: "which applications the account has connected",
        get_application_model(): "applications, which are nobody's",
        get_access_token_model(): "tokens of connected applications, as digests",
        get_refresh_token_model(): "the same",
        get_grant_model(): "codes that are about to become tokens",
        get_id_token_model(): "unused: this is no OpenID provider",
        get_device_grant_model(): "unused: there is no device flow",
    }
)
