"""PostgreSQL and Valkey from Python wheels, kept under the data folder, for a machine that has neither.

``layout`` says where they answer, ``servers.hold_servers`` makes sure that they do, ``keeper`` is the small process
that runs one of them for as long as anybody needs it.
"""
