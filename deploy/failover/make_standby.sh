#!/bin/sh
# On a new standby: copy the primary into an empty folder, ready to be started. Run it as the account of PostgreSQL.
#   PGPASSWORD=<of replicator> make_standby.sh PRIMARY PORT NAME FOLDER
# NAME: letters, digits and underscores; it names the standby and its replication slot. Start PostgreSQL on FOLDER then, and
# on the primary make commits wait for it:  wait_for_standbys.sh NAME…
set -eu
[ $# -eq 4 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
primary=$1 port=$2 name=$3 folder=$4
case $name in '' | *[!A-Za-z0-9_]*) echo "Not a name: $name" >&2; exit 2 ;; esac
[ -z "$(ls -A "$folder" 2>/dev/null)" ] || { echo "$folder is not empty." >&2; exit 1; }
pg_basebackup --dbname "host=$primary port=$port user=replicator application_name=$name" --pgdata "$folder" \
  --wal-method stream --checkpoint fast --create-slot --slot "$name" --write-recovery-conf
echo "$folder follows $primary as $name. Start PostgreSQL on it."
