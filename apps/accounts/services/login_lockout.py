"""Lock out who guesses passwords: per account and address, per account, and per address.

An attempt is counted before its password is looked at, one after the other for an account and for an address, so that
a hundred at once get no further than a hundred in a row. While a limit is reached nothing is looked at and nothing is
counted: whoever is locked out learns nothing, and nobody can keep an account locked longer by going on. Names that
nobody has are counted like those that somebody has.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from apps.accounts.models import LoginAttempt, LoginSession, User
from apps.core.errors import JiyiError

logger = structlog.get_logger(__name__)

# How long attempts are shown to those who look after the accounts.
KEPT_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Lock:
    """Until when no password is looked at."""

    until: datetime

    def minutes(self, now: datetime) -> int:
        """Return how long that is from `now`, in whole minutes, at least one."""
        return max(1, -((now - self.until) // timedelta(minutes=1)))


class LockedOut(JiyiError):
    """429: too many attempts; no password is looked at until `lock` ends."""

    status, code = 429, "throttled"

    def __init__(self, lock: Lock) -> None:
        super().__init__("Too many failed attempts. Try again later.")
        self.lock = lock


def note_lock(request: HttpRequest, lock: Lock | None) -> None:
    """Keep with the request what locks it out."""
    request.login_lock = lock  # type: ignore[attr-defined]


def get_lock(request: HttpRequest) -> Lock | None:
    """Return what locked the request out, if anything did."""
    return getattr(request, "login_lock", None)


def get_cool_off() -> timedelta:
    """Return how long attempts count, and so how long a lock lasts."""
    return timedelta(minutes=settings.LOGIN_COOL_OFF_MINUTES)


def admit_attempt(*, username: str, address: str | None, now: datetime) -> Lock | None:
    """Count an attempt to log in, or return the lock that forbids it.

    `address`: `get_client_network`. Who succeeds is forgiven: `forgive_attempts`.
    """
    with transaction.atomic():
        _take_turns(username, address)
        if lock := find_lock(username=username, address=address, now=now):
            logger.warning("login.locked_out")
            return lock
        attempt, _is_new = LoginAttempt.objects.get_or_create(
            username=username, ip_address=address, defaults={"failures_since_start": 0, "attempt_time": now}
        )
        counts = attempt.attempt_time > now - get_cool_off()
        attempt.failures_since_start = attempt.failures_since_start + 1 if counts else 1
        attempt.attempt_time = now
        attempt.save(update_fields=["failures_since_start", "attempt_time"])
    return None


def find_lock(*, username: str, address: str | None, now: datetime) -> Lock | None:
    """Return what locks this account at this address out, if anything does; with one query, or two.

    Attempts from elsewhere do not lock an account at an address from which it was used: nobody can keep its owner out.
    """
    account, place = Q(username=username), _at(address)
    limits = {
        "pair": (account & place, settings.LOGIN_FAILURE_LIMIT),
        "account": (account, settings.LOGIN_FAILURE_LIMIT_ACCOUNT),
        "address": (place, settings.LOGIN_FAILURE_LIMIT_ADDRESS),
    }
    counted: dict[str, Sum | Max] = {}
    for name, (rows, _limit) in limits.items():
        counted[f"{name}_failures"] = Sum("failures_since_start", filter=rows)
        counted[f"{name}_last"] = Max("attempt_time", filter=rows)
    recent = LoginAttempt.objects.filter(account | place, attempt_time__gt=now - get_cool_off())
    found = recent.order_by().aggregate(**counted)
    reached = [name for name, (_rows, limit) in limits.items() if (found[f"{name}_failures"] or 0) >= limit]
    if "account" in reached and _was_used_from(address, username):
        reached.remove("account")
    return Lock(until=max(found[f"{name}_last"] for name in reached) + get_cool_off()) if reached else None


def _was_used_from(address: str | None, username: str) -> bool:
    return address is not None and LoginSession.objects.filter(user__username=username, network=address).exists()


def with_limits(attempts: QuerySet[LoginAttempt], *, now: datetime) -> QuerySet[LoginAttempt]:
    """Add to each row what is counted of its account (`of_account`) and of its address (`of_address`)."""
    recent = LoginAttempt.objects.filter(attempt_time__gt=now - get_cool_off()).order_by()

    def add_up(field: str) -> Coalesce:
        rows = recent.filter(**{field: OuterRef(field)}).values(field)
        return Coalesce(Subquery(rows.annotate(total=Sum("failures_since_start")).values("total")), 0)

    return attempts.annotate(of_account=add_up("username"), of_address=add_up("ip_address"))


def forgive_attempts(*, username: str, address: str | None) -> None:
    """Forget the failures of an account at an address, where its owner has just logged in."""
    LoginAttempt.objects.filter(_at(address), username=username).delete()


def unlock(attempts: QuerySet[LoginAttempt]) -> int:
    """Forget these attempts, as if they had not been; returns how many rows that were."""
    count, _by_model = attempts.delete()
    logger.warning("login.unlocked", rows=count)
    return count


def forget_attempts_at(*, user: User) -> None:
    """Forget what was tried with the name of a person who is erased."""
    LoginAttempt.objects.filter(username=user.get_username()).delete()


def forget_old_attempts(*, now: datetime) -> int:
    """Delete attempts that are neither counted nor shown any more."""
    return LoginAttempt.objects.filter(attempt_time__lt=now - KEPT_FOR).delete()[0]


def _at(address: str | None) -> Q:
    return Q(ip_address__isnull=True) if address is None else Q(ip_address=address)


def _take_turns(username: str, address: str | None) -> None:
    """Wait for other attempts at the account and from the address; in one order, lest two wait for each other."""
    with connection.cursor() as cursor:
        for key in (f"login_account:{username}", f"login_address:{address}"):
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
