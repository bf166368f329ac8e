#!/bin/sh
# Does what compose.yaml asks of the nginx image's entry point, and becomes what it is given: the resolvers of this
# machine, then what is mounted to be sourced, then the templates.
set -eu
if [ -n "${NGINX_ENTRYPOINT_LOCAL_RESOLVERS:-}" ]; then
  NGINX_LOCAL_RESOLVERS=$(awk '$1 == "nameserver" {print $2}' ORS=' ' /etc/resolv.conf)
  export NGINX_LOCAL_RESOLVERS
fi
for script in /docker-entrypoint.d/*.envsh; do
  [ -x "$script" ] && . "$script"
done
for template in /etc/nginx/templates/*.template; do
  name=${template##*/}
  defined=$(printf "\${%s} " $(env | cut -d= -f1))
  envsubst "$defined" < "$template" > "${NGINX_ENVSUBST_OUTPUT_DIR:-/etc/nginx/conf.d}/${name%.template}"
done
exec "$@"
