#!/bin/sh
# Writes the one user that PgBouncer lets in, with POSTGRES_PASSWORD, and becomes PgBouncer.
set -eu
umask 077
escaped=$(printf '%s' "${POSTGRES_PASSWORD:?}" | sed 's/"/""/g')
printf '"jiyi" "%s"\n' "$escaped" > /run/pgbouncer/users.txt
exec pgbouncer "${1:-/etc/pgbouncer/pgbouncer.ini}"
