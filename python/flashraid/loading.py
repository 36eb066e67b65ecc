"""Loading results that were saved."""

from .comparison import Comparison
from .report import reading
from .result import Result
from .settings import Path, path_text


def load(path: Path) -> Result | Comparison:
    """Loads a saved result: a Result from the file of `run --json`, a Comparison from that of `compare --json`.

    The file at `path` may also hold `Result.json` or `Comparison.json`. The JSON holds neither warnings nor the names
    of other files nor the exit status: `warnings` and `files` are empty, `status` is 0, there are no charts over time.
    Raises InputError for a file that cannot be read, holds no result, or one of another version of the result format.
    """
    of = reading.read_object(path_text(path, "path"))
    if "results" not in of:
        return reading.result_of(of)
    results = [reading.result_of(each) for each in of["results"]]
    repeats = [[reading.result_of(each) for each in again] for again in of.get("repeats", [])]
    is_partial = any(each.partial for each in results)
    return Comparison(results, of.get("capacity", []), of.get("seeds", 1), repeats=repeats, partial=is_partial)
