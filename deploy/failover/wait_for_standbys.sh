#!/bin/sh
# On the primary: answer a commit only once one of these standbys has it on its disk, so that no failover loses it.
#   wait_for_standbys.sh NAME… [-- PSQL OPTION…]
# With one standby, writing stops while it is away; with two, any of them may be away. Without a name, nothing is waited for.
set -eu
names=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in '' | *[!A-Za-z0-9_]*) echo "Not a name: $1" >&2; exit 2 ;; esac
  names="${names:+$names, }\"$1\""
  shift
done
[ $# -eq 0 ] || shift
setting=${names:+"ANY 1 ($names)"}
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set "setting=$setting" --dbname postgres "$@" <<'SQL'
ALTER SYSTEM SET synchronous_standby_names = :'setting';
SELECT pg_reload_conf() \g /dev/null
SQL
echo "Commits wait for: ${setting:-nobody}"
