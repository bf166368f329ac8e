# In place of valkey/valkey:8.
FROM localhost/debian:trixie
RUN apt-get update \
 && apt-get install --yes --no-install-recommends valkey-server \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && install --directory --owner=valkey --group=valkey /data
USER valkey
WORKDIR /data
VOLUME /data
EXPOSE 6379
CMD ["valkey-server"]
