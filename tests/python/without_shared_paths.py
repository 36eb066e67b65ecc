"""Preloaded by a Dask worker that is to be on another machine: it finds no trace at the path that the sweep has."""

from dataclasses import replace

from flashraid.sweeping.job import Source


def _of_another_machine(self, place, found=Source.found):
    return found(replace(self, path="/nowhere"), place)


Source.found = _of_another_machine  # type: ignore[method-assign]
