# In place of pgvector/pgvector:pg17: what compose.yaml takes from it is the entry point's variables, the folder, and
# that POSTGRES_USER is a superuser.
FROM localhost/debian:trixie
RUN apt-get update \
 && apt-get install --yes --no-install-recommends postgresql-17-pgvector \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/lib/postgresql/* \
 && install --directory --owner=postgres --mode=1777 /var/lib/postgresql/data
ENV PATH=/usr/lib/postgresql/17/bin:$PATH PGDATA=/var/lib/postgresql/data
COPY database.sh /usr/local/bin/
USER postgres
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["database.sh"]
CMD ["postgres"]
