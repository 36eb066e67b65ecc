"""Event-driven simulation of redundancy (RAID) inside flash storage.

    import flashraid as fr
    result = fr.run("trace.csv.gz", device="ssd1", scheme="raid5", fill=0.4, verify=True)
    result.latency.read.p99_9                                    # nanoseconds
    fr.compare("trace.csv.gz", device="ssd1", schemes=["raid0", "raid5"]).to_frame()

Times are nanoseconds, sizes are bytes. Every setting of docs/configuration.md is a keyword argument, and docs/result.md
explains every member of a result.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._native import DefectError, FlashraidError, InputError, __version__
from .reproduce import reproduce

if TYPE_CHECKING:
    from .advisor import Advice, advise
    from .calibration import Calibration, calibrate
    from .comparing import compare
    from .comparison import Comparison
    from .datasheets import Datasheet, datasheet
    from .fitting import fit_device
    from .listings import devices, schemes
    from .loading import load
    from .record import Record
    from .replay import Interrupted, run
    from .reproduce.outcome import Reproduction
    from .result import Result
    from .searching import windows
    from .series import Series
    from .setting_types import Settings, SimulationSettings
    from .simulation import Completion, Simulation
    from .sweeps import Sweep, SweepStatus, sweep
    from .trace import anonymise, convert, fit, profiles, read_trace, sanity, synth, trace_info
else:
    # Most programs, and the command, need little of all this: each module is imported when a name of it is used.
    _MODULES = {
        "advisor": ("Advice", "advise"),
        "calibration": ("Calibration", "calibrate"),
        "comparing": ("compare",),
        "comparison": ("Comparison",),
        "datasheets": ("Datasheet", "datasheet"),
        "fitting": ("fit_device",),
        "listings": ("devices", "schemes"),
        "loading": ("load",),
        "record": ("Record",),
        "replay": ("Interrupted", "run"),
        "reproduce.outcome": ("Reproduction",),
        "result": ("Result",),
        "searching": ("windows",),
        "series": ("Series",),
        "setting_types": ("Settings", "SimulationSettings"),
        "simulation": ("Completion", "Simulation"),
        "sweeps": ("Sweep", "SweepStatus", "sweep"),
        "trace": ("anonymise", "convert", "fit", "profiles", "read_trace", "sanity", "synth", "trace_info"),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted(__all__)


__all__ = [
    "Advice",
    "Calibration",
    "Comparison",
    "Completion",
    "Datasheet",
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
    "Sweep",
    "SweepStatus",
    "__version__",
    "advise",
    "anonymise",
    "calibrate",
    "compare",
    "convert",
    "datasheet",
    "devices",
    "fit",
    "fit_device",
    "load",
    "profiles",
    "read_trace",
    "reproduce",
    "run",
    "sanity",
    "schemes",
    "sweep",
    "synth",
    "trace_info",
    "windows",
]
