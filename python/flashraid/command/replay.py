"""The command that replays a trace under one scheme. Returns its exit status."""

import rich_click as click

from .._native import InputError
from ..outputs import Outputs
from ..settings import Pairs, configuration, drive_file
from . import options
from .common import EPILOG, json_target_of, status_of, warn
from .output import Target
from .outputs import with_outputs
from .progress import Progress


@click.command(epilog=EPILOG)
@options.trace
@options.device
@options.scheme
@options.config
@options.seeds
@options.jobs
@options.json_target
@options.no_engine
@options.quiet
@options.with_settings
@with_outputs
def run(
    trace: str,
    settings: Pairs,
    outputs: Outputs,
    device: str | None,
    scheme: str | None,
    config: str | None,
    seeds: int,
    jobs: int | None,
    json_target: str | None,
    no_engine: bool,
    quiet: bool,
) -> int:
    """Replay a trace under one scheme.

    Example: flashraid run trace.csv.gz --device ssd1 --scheme raid5 --fill 0.4 --verify --json result.json
    """
    # Completion needs the options only.
    from ..comparison import Comparison
    from ..replay import run_pairs
    from . import results, sanity
    from .report import drawings

    json_target = json_target_of(json_target, outputs)
    if seeds == 1 and jobs is not None:
        raise InputError("--jobs: one run is the work of one core: allowed with --seeds")
    if seeds != 1:
        from ..comparing import planned
        from .compare import compare_as_planned

        scheme, settings = _scheme_of(device, scheme, config, settings)
        plan = planned(
            trace,
            device,
            config,
            [scheme],
            settings,
            outputs,
            engine=not no_engine,
            seeds=seeds,
            capacity=False,
            jobs=jobs,
            json_target=json_target,
        )
        return compare_as_planned(plan, json_target, quiet)
    outputs.check(json_target, trace=trace, device=device, config=config, drive=drive_file(settings))
    with (
        Target(json_target) as target,
        drawings(outputs, trace, device, scheme, config, settings) as (drawn, outputs),
        outputs.open() as opened,
    ):
        said = [] if quiet else sanity.show(trace, device, scheme, config, settings)
        with Progress(quiet=quiet) as progress:
            watch = progress.begin(scheme or "run", lambda: configuration(device, scheme, config, settings))
            result = run_pairs(trace, device, scheme, config, not no_engine, watch, settings, opened)
            opened.keep()
            progress.hide()
            target.write(result.fio_json if outputs.fio else result.json)
        drawn.write(Comparison([result]), quiet)
    if json_target != "-":
        results.show_result(result)
    warn([] if quiet else [text for text in result.warnings if text not in said])
    return status_of(result.status, progress, result.partial)


def _scheme_of(device: str | None, scheme: str | None, config: str | None, settings: Pairs) -> tuple[str, Pairs]:
    """The scheme of a run, wherever it is named, and the other settings."""
    name = configuration(device, scheme, config, settings)["config"]["scheme"]["name"]
    return name, [(key, value) for key, value in settings if key != "scheme.name"]
