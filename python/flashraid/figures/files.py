"""Figures as files: each as SVG and PNG, ready for a paper, and the frame behind it as CSV."""

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from .._native import InputError
from ..files import NewFile
from ..settings import Path, path_text

if TYPE_CHECKING:
    from .model import Figure


def write(figures: "list[Figure]", folder: Path, option: str = "figures") -> list[str]:
    """Writes NAME.svg, NAME.png (300 dpi) and NAME.csv of each figure, and returns their paths.

    Makes the folder if it is missing. Each file is complete or absent. `option` names the folder in messages.
    """
    from . import printed

    path = path_text(folder, option)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise InputError(f"{option}: {path}: cannot be made: {error.strerror or error}") from None
    written = []
    for figure in figures:
        drawing = printed.figure(figure)
        with ExitStack() as undo:
            files = {}
            for ending in ("svg", "png", "csv"):
                files[ending] = file = NewFile(os.path.join(path, f"{figure.name}.{ending}"), option)
                undo.callback(file.discard)
            try:
                drawing.savefig(files["svg"].temporary, format="svg")
                drawing.savefig(files["png"].temporary, format="png")
                figure.table().write_csv(files["csv"].temporary)
            except OSError as error:
                raise files["svg"].failure(error) from None
            for file in files.values():
                file.keep()
                written.append(file.path)
    return written
