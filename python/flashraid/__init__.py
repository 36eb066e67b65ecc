"""Event-driven simulation of redundancy (RAID) inside flash storage.

    import flashraid as fr
    result = fr.run("trace.csv.gz", device="ssd1", scheme="raid5", fill=0.5, verify=True)
    result.latency.read.p99_9                                    # nanoseconds
    fr.compare("trace.csv.gz", device="ssd1", schemes=["raid0", "raid5"]).to_frame()

Times are nanoseconds, sizes are bytes. Every setting of docs/configuration.md is a keyword argument, and docs/result.md
explains every member of a result.
"""

from ._native import DefectError, FlashraidError, InputError, __version__
from .calibration import Calibration, calibrate
from .comparison import Comparison
from .listings import devices, schemes
from .record import Record
from .replay import Interrupted, compare, run
from .reproduce import Reproduction, reproduce
from .result import Result
from .series import Series
from .setting_types import Settings, SimulationSettings
from .simulation import Completion, Simulation
from .trace import anonymise, convert, fit, profiles, read_trace, sanity, synth, trace_info

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
    "profiles",
    "read_trace",
    "reproduce",
    "run",
    "sanity",
    "schemes",
    "synth",
    "trace_info",
]
