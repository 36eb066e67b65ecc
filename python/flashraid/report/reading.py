"""Results from files: the JSON of `run` and of `compare`."""

import json
import os
from collections.abc import Collection, Sequence
from itertools import chain, count
from pathlib import PurePath
from typing import Any

from .. import documents
from .._native import InputError
from ..comparison import Comparison
from ..result import Result
from ..settings import Path, path_text
from . import checking


def read(paths: Sequence[Path]) -> Comparison:
    """The results of these files, in their order. Those of one scheme from different files are named by their files.

    Raises InputError for a file that cannot be read, holds no result, or one of a newer format.
    """
    found = [(path_text(path, "RESULT.json"), read_object(path_text(path, "RESULT.json"))) for path in paths]
    seeds = {of.get("seeds", 1) for _, of in found}
    if len(seeds) > 1:
        raise InputError("the files are of different numbers of seeds: allowed is the same number in each")
    repeats = seeds.pop()
    data: list[dict[str, Any]] = []
    again: list[list[list[dict[str, Any]]]] = []
    capacities: list[list[dict[str, Any]]] = []
    for path, of in found:
        each, rates = of.get("results", [of]), of.get("capacity", []) if "results" in of else []
        if len(found) > 1 and len(each) % repeats:
            last = each[-1]["scheme"]
            raise InputError(f"{path}: was interrupted between the seeds of {last}: allowed is such a file alone")
        names = _names([result["scheme"] for result in each], path, {result["scheme"] for result in data})
        data += [{**result, "scheme": names[result["scheme"]]} for result in each]
        again.append(
            [[{**result, "scheme": names.get(result["scheme"], "")} for result in own] for own in of.get("repeats", [])]
        )
        # A list of rates has no gaps: those that an interruption left out would be taken for those of the next file.
        is_whole = len(rates) * repeats == len(each)
        capacities.append(rates if is_whole or len(found) == 1 else [])
    capacity = [rate for each in capacities for rate in each] if all(capacities) else []
    # Runs that were repeated are not compared with runs that were not.
    repeated = [list(map(result_of, of)) for each in again for of in each] if all(again) else []
    return Comparison([result_of(each) for each in data], capacity, repeats, repeats=repeated)


def result_of(data: dict[str, Any]) -> Result:
    """The result of a JSON object."""
    return Result(json.dumps(data, indent=2) + "\n", None, [], 0, {})


def _names(schemes: Sequence[str], path: str, taken: Collection[str]) -> dict[str, str]:
    """What to call the schemes of a file: what others are called is followed by the file, or by its whole path."""
    file = os.path.basename(path).removesuffix(".json")
    found = {}
    for scheme in schemes:
        names = chain(
            (scheme, f"{scheme} ({file})"), (f"{scheme} ({path}{f', {at}' if at > 1 else ''})" for at in count(1))
        )
        found[scheme] = next(name for name in names if name not in taken)
    return found


def read_object(path: str) -> dict[str, Any]:
    """The JSON object of a file: a result, or several under `results`. Raises InputError as `read` does."""
    of = documents.read_json(path)
    allowed = "allowed is the JSON of run or compare"
    if not isinstance(of, dict) or not isinstance(of.get("schema"), int):
        raise InputError(f"{path}: holds no result of flashraid: {allowed}, which has a number for schema")
    version = checking.schema_version()
    if of["schema"] != version:
        remedy = "use a newer flashraid" if of["schema"] > version else "run it again with --config"
        raise InputError(f"{path}: has version {of['schema']} of the result format, and allowed is {version}: {remedy}")
    results = of.get("results", [of])
    if not isinstance(results, list) or not results:
        raise InputError(f"{path}: holds no result of flashraid: {allowed}")
    for result in results:
        checking.check_result(result, path)
    again = of.get("repeats", [])
    if not isinstance(again, list) or not all(isinstance(each, list) for each in again) or len(again) > len(results):
        raise InputError(f"{path}: repeats: allowed is a list of results for each scheme")
    for result in chain.from_iterable(again):
        checking.check_result(result, path)
    seeds, capacity = of.get("seeds", 1), of.get("capacity", []) if "results" in of else []
    if not isinstance(seeds, int) or seeds < 1:
        raise InputError(f"{path}: seeds = {seeds!r}: allowed is a whole number from 1")
    if not isinstance(capacity, list) or not all(map(_is_rate, capacity)):
        raise InputError(f"{path}: capacity: allowed is a list of objects with a number requests_per_second")
    return of


def _is_rate(of: object) -> bool:
    return isinstance(of, dict) and isinstance(of.get("requests_per_second"), int | float)


def add_series(comparison: Comparison, paths: Sequence[Path]) -> list[str]:
    """Gives each result its file of a series: one path for each, or the one that a comparison was given."""
    texts = [path_text(path, "--series") for path in paths]
    results = comparison.results
    if len(texts) == 1 and len(results) > 1 and not os.path.exists(texts[0]):
        name = PurePath(texts[0])
        texts = [str(name.with_stem(f"{name.stem}-{result.scheme}")) for result in results]
    if texts and len(texts) != len(results):
        raise InputError(f"--series: {len(texts)} files for {len(results)} results: allowed is one for each, or none")
    for text, result in zip(texts, results, strict=False):
        if not os.path.isfile(text):
            raise InputError(f"--series: {text}: no such file")
        checking.check_series(result, text)
        result.files["series"] = text
    return texts
