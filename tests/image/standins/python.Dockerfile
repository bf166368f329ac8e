# In place of python:*-slim: Debian's own Python.
FROM localhost/debian:bookworm
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-venv ca-certificates \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
