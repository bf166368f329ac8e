# In place of nginx:1.28. Debian's stable release has 1.26, which does not know `server … resolve`.
FROM localhost/debian:forky
RUN apt-get update \
 && apt-get install --yes --no-install-recommends nginx gettext-base \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /etc/nginx/conf.d/* /etc/nginx/sites-enabled/* \
 && ln -sf /dev/stdout /var/log/nginx/access.log \
 && ln -sf /dev/stderr /var/log/nginx/error.log
COPY proxy.sh /usr/local/bin/
EXPOSE 80
STOPSIGNAL SIGQUIT
ENTRYPOINT ["proxy.sh"]
CMD ["nginx", "-g", "daemon off;"]
