#!/bin/sh
# On the primary, once: make the role that standbys connect as. Run it as the account that PostgreSQL runs as.
#   REPLICATION_PASSWORD=… prepare_primary.sh [PSQL OPTION…]
# pg_hba.conf needs a line for it:  host replication replicator <network of the database hosts> scram-sha-256
set -eu
: "${REPLICATION_PASSWORD:?}"
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname postgres "$@" <<'SQL'
\getenv password REPLICATION_PASSWORD
SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'replicator') AS missing \gset
\if :missing
CREATE ROLE replicator LOGIN REPLICATION;
\endif
ALTER ROLE replicator PASSWORD :'password';
-- What pg_rewind asks of the primary that a former one is to follow.
GRANT EXECUTE ON FUNCTION pg_ls_dir(text, boolean, boolean), pg_stat_file(text, boolean),
  pg_read_binary_file(text), pg_read_binary_file(text, bigint, bigint, boolean) TO replicator;
SQL
echo "Standbys may connect as replicator."
