"""Who does the runs of a sweep: this process, or a cluster, as options or arguments say it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import machine
from .._native import InputError
from ..causes import cause
from ..extras import need
from ..settings import Path, check_texts, path_text
from ..sizes import check_range

if TYPE_CHECKING:
    from ssl import SSLContext

# Gives the name of an argument in messages.
Label = Callable[[str], str]


@dataclass(frozen=True)
class Tls:
    """Files in PEM: by which both sides are known to each other, and nobody else can listen."""

    ca: str
    cert: str
    key: str


@dataclass(frozen=True)
class Where:
    """Who does runs."""

    jobs: int | None = None  # at the same time in this process; None if the user did not say
    scheduler: str | None = None  # of a cluster that does them instead
    tls: Tls | None = None

    @property
    def threads(self) -> int:
        """How many runs may be under way in this process."""
        return self.jobs or machine.cores()


def where(
    jobs: int | None,
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    label: Label = str,
) -> Where:
    """What the arguments say; `label` gives the name of one in messages. Raises InputError if it cannot be."""
    if jobs is not None:
        check_range(label("jobs"), jobs, 1, machine.MOST_JOBS)
    files = {"tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key}
    if scheduler is None:
        if found := next((name for name, file in files.items() if file is not None), None):
            raise InputError(f"{label(found)}: allowed with {label('scheduler')}")
        return Where(jobs)
    check_texts(scheduler=scheduler)
    if not re.fullmatch(r"([a-z]+://)?[^\s:/]+:\d{1,5}", scheduler):
        raise InputError(f"{label('scheduler')} {scheduler!r}: allowed is an address, as tcp://host:8786")
    if jobs is not None:
        why = "a cluster has its own number of threads"
        raise InputError(f"{label('jobs')}: {why}: allowed without {label('scheduler')}")
    need("sweep", label("scheduler"))
    return Where(None, scheduler, _tls(scheduler, files, label))


def _tls(scheduler: str, files: dict[str, Path | None], label: Label) -> Tls | None:
    """The certificates, checked here, as Dask's messages name no file."""
    given = {name: path_text(file, label(name)) for name, file in files.items() if file is not None}
    if not given:
        return None
    if missing := next((name for name in files if name not in given), None):
        raise InputError(f"{label(missing)}: needed with {label(next(iter(given)))}")
    if not scheduler.startswith("tls://"):
        raise InputError(f"{label('scheduler')} {scheduler!r}: allowed with {label('tls_ca')} is tls://host:8786")
    import ssl  # few sweeps need it, and it takes long to load

    tls = Tls(given["tls_ca"], given["tls_cert"], given["tls_key"])
    for name, load in (("tls_ca", _load_ca), ("tls_cert", _load_ca), ("tls_key", _load_key)):
        try:
            load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls, given[name])
        except ssl.SSLError as error:
            what = f"no key of {tls.cert} without a password" if name == "tls_key" else "no certificate"
            raise InputError(f"{label(name)} {given[name]}: {what} in PEM ({error.reason or 'not PEM'})") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{label(name)} {given[name]}: cannot be read: {cause(error)}") from None
    return tls


def _load_ca(context: "SSLContext", _tls: Tls, path: str) -> None:
    context.load_verify_locations(path)


def _load_key(context: "SSLContext", tls: Tls, path: str) -> None:
    # Without a password given, the user would be asked for it on the terminal.
    context.load_cert_chain(tls.cert, path, password="")
