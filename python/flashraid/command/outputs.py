"""The options for the additional outputs of `run` and `compare` (docs/outputs.md)."""

from functools import wraps
from typing import Any

from .._native import InputError
from ..outputs import Outputs
from .options import Command, declared, option

FORMATS = ("flashraid", "fio-json")

# Option, key of OutputArguments, metavar, help.
OPTIONS = [
    (
        "--log-latency",
        "latency_log",
        "FILE",
        "Log of requests: arrival, start, end, method. CSV or Parquet, by file name.",
    ),
    ("--log-operations", "operation_log", "FILE", "Log of page operations and erases. CSV or Parquet, by file name."),
    (
        "--series",
        "series",
        "FILE",
        "Time series, one row per interval of simulated time. CSV or Parquet, by file name.",
    ),
    ("--series-interval", "series_interval", "TIME", "Length of the intervals, as in 250us or 1.5s; by default 100ms."),
    (
        "--hdr-log",
        "hdr_log",
        "FILE",
        "Latencies as an HdrHistogram interval log (version 2), tagged by kind of request.",
    ),
    (
        "--timeline",
        "timeline",
        "FILE.json",
        "Timeline of buses and dies in the Chrome trace event format, for Perfetto.",
    ),
    (
        "--timeline-window",
        "timeline_window",
        "START..END",
        "Simulated time that the timeline covers; by default the first 100ms measured.",
    ),
    ("--save-drive", "save_drive", "FILE", "The drive as the run leaves it, for --drive of another run."),
]
# What is made of the results: option, field of Outputs, metavar, help.
DRAWN = [
    ("--report", "report", "FILE.html", "Report: one HTML file with tables and charts."),
    ("--figures", "figures", "DIR", "Figures of the report as SVG and PNG, each with its data as CSV, in this folder."),
]
LABELS = {name: option for option, name, _, _ in [*OPTIONS, *DRAWN]} | {
    "json": "--json",
    "device": "--device",
    "config": "--config",
    "drive": "--drive",
    "seeds": "--seeds",
    "jobs": "--jobs",
    "equal": "--equal",
    "fio": "--output-format",
}
FORMAT_HELP = "Format of --json. fio-json is fio's JSON format; without --json it goes to standard output."


def with_outputs(command: Command) -> Command:
    """Gives a command these options; it receives their values as its parameter `outputs`."""
    options = [*OPTIONS, *DRAWN, ("--output-format", "output_format", "|".join(FORMATS), FORMAT_HELP)]

    @wraps(command)
    def wrapper(**values: Any) -> int:
        given = {name: values.pop(name) for _, name, _, _ in options}
        output_format = given.pop("output_format") or FORMATS[0]
        if output_format not in FORMATS:
            raise InputError(f"--output-format {output_format}: allowed is {' or '.join(FORMATS)}")
        drawn = {name: given.pop(name) for _, name, _, _ in DRAWN}
        arguments: Any = {**given, "fio": output_format == "fio-json"}
        return command(outputs=Outputs(arguments, LABELS, **drawn), **values)

    parameters = [
        option(word, name, metavar=metavar, help=about, panel="Outputs") for word, name, metavar, about in options
    ]
    return declared(wrapper, *parameters)
