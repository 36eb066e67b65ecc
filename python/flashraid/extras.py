"""What needs more than the packages that flashraid itself needs, and how that is installed."""

from importlib.util import find_spec

from ._native import InputError

# The packages of each extra, as they are imported.
EXTRAS = {"plot": ("altair", "jinja2", "matplotlib"), "sweep": ("distributed",)}


def need(extra: str, what: str) -> None:
    """Refuses `what` unless every package of the extra is installed."""
    if missing := [package for package in EXTRAS[extra] if find_spec(package) is None]:
        raise InputError(f"{what} needs {' and '.join(missing)}: pip install 'flashraid[{extra}]'")
