"""Figures as files: each as SVG and PNG, ready for a paper, and the frame behind it as CSV."""

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from .._native import InputError
from ..causes import cause
from ..extras import need
from ..files import NewFile
from ..interrupts import Interrupts
from ..settings import Path, path_text

if TYPE_CHECKING:
    from .model import Figure


def write(figures: "list[Figure]", folder: Path, option: str = "figures") -> list[str]:
    """Writes NAME.svg, NAME.png (300 dpi) and NAME.csv of each figure, and returns their paths.

    Makes the folder if it is missing. The files appear all at the end, or none of them if drawing fails or is
    interrupted. `option` names the folder in messages.
    """
    need("plot", option)
    from . import printed

    path = path_text(folder, option)
    with ExitStack() as undo:
        make_folder(path, option, undo)
        files = []
        for figure in figures:
            drawing = printed.figure(figure)
            of = {}
            for ending in ("svg", "png", "csv"):
                of[ending] = file = NewFile(os.path.join(path, f"{figure.name}.{ending}"), option)
                undo.callback(file.discard)
                files.append(file)
            try:
                drawing.savefig(of["svg"].temporary, format="svg")
                drawing.savefig(of["png"].temporary, format="png")
                figure.table().write_csv(of["csv"].temporary)
            except OSError as error:
                raise of["svg"].failure(error) from None
        with Interrupts():  # either none of them or all
            for file in files:
                file.keep()
    return [file.path for file in files]


PICTURES = (".svg", ".png")


def picture(path: Path, option: str) -> NewFile:
    """The file of several figures in one picture, checked at once; `option` names it in messages."""
    text = path_text(path, option)
    if _ending(text) not in PICTURES:
        raise InputError(f"{option}: {text or 'empty name'}: allowed is a name that ends in {' or '.join(PICTURES)}")
    need("plot", option)
    return NewFile(text, option)


def write_in_one(figures: "list[Figure]", file: NewFile) -> None:
    """Writes the figures into one picture."""
    from . import printed

    try:
        printed.together(figures).savefig(file.temporary, format=_ending(file.path)[1:])
    except OSError as error:
        raise file.failure(error) from None
    file.keep()


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def make_folder(path: str, option: str, undo: ExitStack) -> None:
    """Makes the folder, unless it is there. It goes again if nothing is written to it.

    `option` names it in messages.
    """
    if os.path.isdir(path):
        return
    try:
        os.makedirs(path)
    except OSError as error:
        raise InputError(f"{option}: {path}: cannot be made: {cause(error)}") from None
    undo.callback(_remove_if_empty, path)


def _remove_if_empty(folder: str) -> None:
    with suppress(OSError):
        os.rmdir(folder)
