#!/bin/sh
# On a standby: become the primary. Run it as the account of PostgreSQL, when the primary is gone for good.
#   promote.sh FOLDER OLD_PRIMARY PORT [PSQL OPTION…]
# It refuses while the old primary still answers: two primaries would each take writes. Make sure that it cannot come back
# as one by itself (its PostgreSQL must not start at boot); rejoin.sh makes it a standby. Jiyi finds the new primary without
# being told, as DATABASE_URL lists both hosts with target_session_attrs=read-write.
set -eu
[ $# -ge 3 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1 old=$2 port=$3
shift 3
status=0
pg_isready --quiet --host "$old" --port "$port" --timeout 3 || status=$?
# 0: it accepts connections. 1: it is starting or stopping, so it lives.
if [ "$status" -lt 2 ]; then
  echo "$old still answers on port $port. Stop PostgreSQL there, or cut it off, first." >&2
  exit 1
fi
pg_ctl promote --pgdata "$folder" --wait --silent
# Nobody follows this host yet, and a commit must not wait for one that never comes.
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname postgres "$@" <<'SQL'
ALTER SYSTEM SET synchronous_standby_names = '';
SELECT pg_reload_conf() \g /dev/null
SQL
echo "This host is the primary. A commit is on its disk alone until a standby follows (rejoin.sh or make_standby.sh)."
