"""The environment and `.env`, where data is kept, and the secret key: what the other settings are read from."""

from __future__ import annotations

from pathlib import Path

import environ

from apps.core.secret_key import get_former_keys, get_secret_key
from apps.embedded.layout import Home

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()
env.smart_cast = False
_home = Home.of(BASE_DIR)
if _home.env_file and _home.env_file.is_file():
    env.read_env(_home.env_file)

DATA_DIR = _home.get_data_folder(env.str("JIYI_DATA_DIR", default=""))

# How people start a command of `manage.py` here.
COMMAND = _home.command

SECRET_KEY = env.str("SECRET_KEY", default="") or get_secret_key(DATA_DIR)
SECRET_KEY_FALLBACKS = [*env.list("SECRET_KEY_FALLBACKS", default=[]), *get_former_keys(DATA_DIR)]
