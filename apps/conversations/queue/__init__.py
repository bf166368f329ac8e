"""The queue of background work, in PostgreSQL: what is still to be done for messages after the reply (see `Work`).

`rows` holds the SQL, `claiming` what one run works on, `draining` the loop of every task; `blame` says how long failed
work is tried again, `sending` wakes the workers, `restarting` frees what a killed worker held. Other apps use
`services`, `selectors` and `types`.
"""
