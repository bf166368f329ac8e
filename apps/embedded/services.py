"""What other apps may use of the embedded servers."""

from apps.embedded.layout import DataLayout
from apps.embedded.locks import InstallationInUse, hold_installation, try_lock
from apps.embedded.postgres import MAJOR, bundled_programs
from apps.embedded.postgres import read_major as read_cluster_major
from apps.embedded.servers import ServersUnavailable, get_missing_servers, hold_servers
from apps.embedded.upgrading import hold_old_server, measure_state, swap_in
from apps.embedded.urls import DATABASE_NAME, DATABASE_ROLE, database_url

__all__ = [
    "DATABASE_NAME",
    "DATABASE_ROLE",
    "MAJOR",
    "DataLayout",
    "InstallationInUse",
    "ServersUnavailable",
    "bundled_programs",
    "database_url",
    "get_missing_servers",
    "hold_installation",
    "hold_old_server",
    "hold_servers",
    "measure_state",
    "read_cluster_major",
    "swap_in",
    "try_lock",
]
