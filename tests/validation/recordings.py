"""Cases on recordings: the engine and tests/reference/nand_model.py beside SSDsim 2.1, which ran the same traces."""

from collections.abc import Iterable
from dataclasses import replace

from reference import nand_model
from validation import peers
from validation.cases import Case, Figure, Recording, Runner, Section, Setup, responses_ns

POSTMARK = Recording("postmark", 49_584, sha256="cc18fa7b1ade")
SQLITE = Recording("sqlite", 52_503, sha256="11154eaf5567")
ALL = (POSTMARK, SQLITE)

# Digests of SSDsim's response times, static, on the first so many requests of a recording: the SHA-256 (its first
# digits) of the lines `arrival sector sectors 1|0 response`, sorted as text. 1 is a read, times are in ns.
SSDSIM_DIGESTS = {
    (POSTMARK, 5_000): "30358ee0589e",
    (SQLITE, 5_000): "8e099c2a2209",
    (POSTMARK, POSTMARK.requests): "5bbca14e3442",
    (SQLITE, SQLITE.requests): "3df53580efbb",
}

# The engine's rules but for the one that is said to make the difference.
ENGINE_BUT_PROGRAMS = replace(nand_model.ENGINE, arbitration=nand_model.programs_by_number)


def engine_ns(requests: Iterable[nand_model.Request], setup: Setup) -> tuple[list[int], list[int]]:
    """Response times of the engine's reads and writes, in the order of arrival."""
    wanted = list(requests)
    found: dict[bool, list[int]] = {True: [], False: []}
    for request, response in zip(wanted, responses_ns(wanted, setup), strict=True):
        found[request.is_read].append(response)
    return found[True], found[False]


def agreeing(recording: Recording) -> Case:
    """On how many requests the engine and the independent model with its rules agree to the nanosecond."""

    def measure(runner: Runner) -> Figure:
        engine = engine_ns(runner.requests(recording), peers.SSDSIM_STATIC)
        model = runner.model_ns(recording, nand_model.ENGINE)
        pairs = [pair for ours, theirs in zip(engine, model, strict=True) for pair in zip(ours, theirs, strict=True)]
        return Figure(sum(ours == theirs for ours, theirs in pairs))

    name = f"{recording.name}, static: response times that are to the ns those of nand_model.py with the engine's rules"
    source = "number of requests"
    return Case(name, recording.name, peers.SSDSIM_STATIC, recording.requests, "", 0, 0.0, source, measure, quick=False)


def rows(recording: Recording, static: tuple[float, float], dynamic: tuple[float, float]) -> list[Case]:
    """All cases of a recording; the figures are SSDsim's means of reads and of writes in us."""
    name = recording.name
    means = (("reads", peers.READS), ("writes", peers.WRITES))
    engine = [
        peers.peer(f"SSDsim {mode}, {name}, {kind}", recording, setup, expected, None, peers.SSDSIM, mean)
        for mode, setup, figures in (
            ("static", peers.SSDSIM_STATIC, static),
            ("dynamic", peers.SSDSIM_DYNAMIC, dynamic),
        )
        for (kind, mean), expected in zip(means, figures, strict=True)
    ]
    rules = (
        ("SSDsim's rules", nand_model.SSDSIM, 0.0),
        ("the engine's, but SSDsim's order of programs", ENGINE_BUT_PROGRAMS, 0.01),
    )
    model = [
        peers.modelled(f"{name}, static, {kind}s: nand_model.py with {what}", recording, kind, of, expected, tolerance)
        for what, of, tolerance in rules
        for kind, expected in zip(("read", "write"), static, strict=True)
    ]
    return [*engine[:2], *model, agreeing(recording), *engine[2:]]


CHIPS_FIRST = Setup("ssdsim-static-chips-first", {**peers.SSDSIM_STATIC.settings, "static_order": "WPD"})
SECTION = Section(
    "Response times of SSDsim on recordings",
    f"""\
Mean response times on the same device. The workloads are the reads and writes of two recordings in `samples/`, as
`flashraid trace convert samples/NAME-transactions.csv.gz -o NAME.ssdsim --on-error skip` writes them; all are of whole
pages. SHA-256 of the traces: postmark {POSTMARK.sha256}..., sqlite {SQLITE.sha256}...

SSDsim ran them with its `page.parameters` but for: dram capacity 0; chip number[0] to [3] 4, channel number 4, chip
number 16, block number 4096, subpage page 8, page capacity 4096; advanced command 0; allocation 1 (static, with
static_allocation 2) or 0 (dynamic, with dynamic_allocation 0); and the line `queue_length = 100000` added. Its figures
are means over the lines of its `ex.out`. It needs two more requests at the end, of which it drops the last: reads of
the page that the trace begins with, 1000 s and 2000 s after the last request, without an end of line. They do not
count. `nand_model.py` is the independent model of the section before.""",
    (
        *rows(POSTMARK, static=(152.926, 20_902.955), dynamic=(147.049, 9_780.489)),
        *rows(SQLITE, static=(142.663, 230.249), dynamic=(139.384, 140.927)),
        peers.peer(
            "SSDsim static, sqlite, writes, chips before planes",
            SQLITE,
            CHIPS_FIRST,
            230.249,
            None,
            peers.SSDSIM,
            peers.WRITES,
        ),
    ),
    after="""\
- *Writes, static.* Here the idle LUNs of a channel take turns, and each begins the write that has waited for it
  longest. In SSDsim a free channel goes through its chips by number, and the first idle one begins the oldest write
  that waits for its die 0 or, if there is none, for its die 1, however long others have waited. Programs on three chips
  are enough to keep a bus busy (3 x 102,575 ns is more than 302,575 ns). So the last chip gets none while writes wait
  for the first three; afterwards it has its own to do one after another, while the others and most of the bus are idle.
  This doubles the mean of postmark, in whose bursts thousands of pages wait, and does nothing in sqlite, where few do.
  That is nearly all: with this rule alone in place of the engine's, `nand_model.py` comes within 0.3 % of SSDsim's
  means, and with the engine's it gives the engine's response times. The engine has no setting for it.
- *The rest.* With three more rules of SSDsim each of its response times is exact, not only the means (the tests compare
  digests). A free channel sends the oldest read command, and takes data out from the chip with the lowest
  number. A request that arrives in the instant in which a bus becomes free is queued with all its pages before that bus
  is given to anyone. Writes of one page do not wait for each other; in the engine the second is queued when the first
  has been programmed. SSDsim also answers a read after 1 us if a read of its page waits already: once in (b), and never
  in these recordings.
- *Placement.* With SSDsim's static_allocation 2 planes vary before chips, so consecutive pages of a channel lie on one
  chip in pairs: `static_order = PWD`. It makes no difference to the random addresses of (a) and (b), but the short
  sequential writes of sqlite are faster with chips first (last row).
- *Dynamic.* In both simulators a write goes to the chip whose turn it is, so none waits for a chip of its own, and the
  order of the chips is worth little. *Dynamic (b)* above says what else may differ.""",
)
