"""What is drawn by figures: results, comparisons, series and reproductions, each with the same methods."""

from typing import TYPE_CHECKING, Any

from .._native import InputError
from ..extras import need
from ..settings import known_name
from .model import Figure

if TYPE_CHECKING:
    import matplotlib.figure


class Drawn:
    """Something that has figures."""

    def figures(self) -> list[Figure]:
        """What `plot` and `chart` draw, as data (docs/figures.md); figures with nothing in them are left out."""
        raise NotImplementedError

    def plot(self, name: str | None = None) -> "matplotlib.figure.Figure":
        """The figure of this name for print (matplotlib); without a name all figures.

        Raises InputError for an unknown name, if there are no figures, and without the extra `plot`.
        """
        need("plot", "plot")
        from . import printed

        found = self._chosen(name)
        return printed.together(found) if name is None else printed.figure(found[0])

    def chart(self, name: str | None = None) -> Any:
        """The figure of this name for the screen (an Altair chart); without a name all figures, one below the other.

        Hovering shows the numbers, a click on the legend hides a series, dragging moves, the wheel with Ctrl zooms, and
        a double click resets. Raises InputError for an unknown name, if there are no figures, and without the extra
        `plot`.
        """
        need("plot", "chart")
        from . import vega

        found = self._chosen(name)
        return vega.with_config(vega.together(found) if name is None else vega.chart(found[0], vega.NOTEBOOK_WIDTH))

    def _chosen(self, name: str | None) -> list[Figure]:
        figures = {figure.name: figure for figure in self.figures()}
        if name is not None:
            return [figures[known_name("figure", name, figures)]]
        if not figures:
            raise InputError("no figures: nothing was measured that one could show")
        return list(figures.values())
