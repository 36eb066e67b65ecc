"""Loads the command once, and runs it in a fork for each call: loading takes most of the time of a short call.

Called with the number of a socket, which brings a call as JSON (arguments, folder, environment) with its three
standard streams, and takes the exit status.
"""

import atexit
import gc
import json
import os
import signal
import socket
import sys
from importlib import import_module

# Otherwise NumPy starts threads, which a fork does not have. A call has the environment that comes with it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# What is loaded as late as in the first call that needs it. Of the threads of Polars no fork has the work that it
# begins, as Polars starts those only when it has something to compute.
import altair  # noqa: F401
import matplotlib.figure  # noqa: F401
import polars  # noqa: F401
import rich._emoji_codes
import rich.console
import rich.progress
import rich.table  # noqa: F401
import rich_click.rich_help_rendering  # noqa: F401

import flashraid.command.claims
import flashraid.figures.printed
import flashraid.figures.vega
import flashraid.report.page
from flashraid.command import app

for module in {*app.flashraid.modules.values(), *app.trace.modules.values()}:
    import_module(f"flashraid.command.{module}")


def serve(connection: socket.socket) -> None:
    """Serves calls until the socket is closed. A fork returns from here: what it does next is the command."""
    while True:
        message, streams, *_ = socket.recv_fds(connection, 1 << 20, 3)
        if not message:
            os._exit(0)
        call = json.loads(message)
        child = os.fork()
        if child == 0:
            connection.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            os.chdir(call["folder"])
            os.environ.clear()
            os.environ.update(call["environment"])
            sys.argv = ["flashraid", *call["arguments"]]
            return
        for stream in streams:
            os.close(stream)
        connection.send(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # A collection would write to all objects, and to take the interpreter down too: a fork then copies all of memory.
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        flashraid.command.main()
    except SystemExit as ended:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(ended.code or 0))
