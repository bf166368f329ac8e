#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    from django.core.management import execute_from_command_line

    from apps.core.version import VERSION
    from apps.embedded.servers import command_servers

    if sys.argv[1:] in (["version"], ["--version"]):  # Django would tell its own
        sys.stdout.write(f"Jiyi {VERSION}\n")
        return
    with command_servers(sys.argv):
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
