"""Several schemes under one workload."""

from . import notebook
from .compared import Compared
from .figures import Figure, of_results
from .figures.drawn import Drawn
from .result import Result
from .settings import Path


class Comparison(Compared[Result], Drawn):
    """The results of a comparison, in the order of the schemes, and for each scheme in that of the seeds.

    `results` lists them, one for each of `seeds` seeds of each scheme. `repeats` has for each scheme a list of results
    of the same run that differ by chance alone, from which tables take means and intervals; it is empty if nothing was
    repeated, and `why_once` then says why. `capacity` tells for each scheme how many requests per second it completes
    in a closed loop, if the comparison measured that (docs/result.md). `partial` is whether it was interrupted.
    `left_out` has the schemes that `all` does not stand for on this device, and why.
    """

    def figures(self) -> list[Figure]:
        """What `plot` and `chart` draw, as data (docs/figures.md): each scheme with its first seed."""
        return of_results.figures(self.results[:: self.seeds])

    def report(self, path: Path, title: str = "") -> None:
        """Writes a report of the results to the file `path` (.html), as docs/report.md describes it.

        `title` replaces the heading, which names trace, schemes and device. Charts over time need a comparison with
        `series=`. Raises InputError if the file cannot be written.
        """
        from .report.of_results import of_comparison

        of_comparison(self, path, title)

    def _repr_html_(self) -> str:
        return notebook.of_comparison(self)

    def __repr__(self) -> str:
        schemes = ", ".join(result.scheme for result in self.results[:: self.seeds])
        return f"<Comparison: {schemes}, status {self.status}>"
