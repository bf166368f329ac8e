"""All configuration, read from the environment (see .env.example); every default works on a fresh machine."""

from project.settings.accounts import *
from project.settings.doors import *
from project.settings.environment import *
from project.settings.models import *
from project.settings.safety import *
from project.settings.site import *
from project.settings.stores import *
from project.settings.workers import *
