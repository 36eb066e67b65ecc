"""Event-driven simulation of redundancy (RAID) inside flash storage.

    import flashraid as fr
    result = fr.run("trace.csv.gz", device="ssd1", scheme="raid5", fill=0.5, verify=True)
    result.latency.read.p99_9                                    # nanoseconds
    fr.compare("trace.csv.gz", device="ssd1", schemes=["raid0", "raid5"]).to_frame()

Times are nanoseconds, sizes are bytes. Every setting of docs/configuration.md is a keyword argument, and docs/result.md
explains every member of a result.
"""

from typing import TYPE_CHECKING

from ._native import DefectError, FlashraidError, InputError, __version__
from .calibration import Calibration, calibrate
from .comparison import Comparison
from .listings import devices, schemes
from .loading import load
from .record import Record
from .replay import Interrupted, compare, run
from .reproduce import reproduce
from .result import Result
from .series import Series
from .setting_types import Settings, SimulationSettings
from .simulation import Completion, Simulation
from .trace import anonymise, convert, fit, profiles, read_trace, sanity, synth, trace_info

if TYPE_CHECKING:
    from .reproduce.outcome import Reproduction
else:

    def __getattr__(name: str) -> type:
        """The classes that take long to import, which few programs name."""
        if name == "Reproduction":
            from .reproduce.outcome import Reproduction

            return Reproduction
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Calibration",
    "Comparison",
    "Completion",
    "DefectError",
    "FlashraidError",
    "InputError",
    "Interrupted",
    "Record",
    "Reproduction",
    "Result",
    "Series",
    "Settings",
    "Simulation",
    "SimulationSettings",
    "__version__",
    "anonymise",
    "calibrate",
    "compare",
    "convert",
    "devices",
    "fit",
    "load",
    "profiles",
    "read_trace",
    "reproduce",
    "run",
    "sanity",
    "schemes",
    "synth",
    "trace_info",
]
