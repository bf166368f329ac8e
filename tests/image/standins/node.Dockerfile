# In place of node:*-slim: the Node.js that `make` installs where there is none, as locked. Built from requirements/.
FROM localhost/standin/python
COPY npm.txt /tmp/
RUN python3 -m venv /opt/node && /opt/node/bin/python -m pip install --require-hashes -r /tmp/npm.txt
ENV PATH=/opt/node/bin:$PATH
