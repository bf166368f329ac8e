#!/bin/sh
# On a former primary that is back, with PostgreSQL stopped: follow the new one. Run it as the account of PostgreSQL.
#   PGPASSWORD=<of replicator> rejoin.sh FOLDER NEW_PRIMARY PORT NAME
# What the old primary wrote and no standby had is undone: it was answered to nobody. Start PostgreSQL on FOLDER then, and on
# the new primary make commits wait for it:  wait_for_standbys.sh NAME
set -eu
[ $# -eq 4 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1 primary=$2 port=$3 name=$4
case $name in '' | *[!A-Za-z0-9_]*) echo "Not a name: $name" >&2; exit 2 ;; esac
source="host=$primary port=$port user=replicator dbname=postgres application_name=$name"
pg_rewind --target-pgdata "$folder" --source-server "$source" --write-recovery-conf
# The slot keeps for this host what it has not fetched yet.
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set "name=$name" --dbname "$source" <<'SQL'
SELECT pg_create_physical_replication_slot(:'name', true)
WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = :'name') \g /dev/null
SQL
printf "primary_slot_name = '%s'\nsynchronous_standby_names = ''\n" "$name" >> "$folder/postgresql.auto.conf"
echo "$folder follows $primary as $name. Start PostgreSQL on it."
