"""Loads the command once, and runs it in a fork for each call: loading takes most of the time of a short call.

Called with the number of a socket, which brings a call as JSON (arguments, folder, environment) with its three
standard streams, and takes the exit status.
"""

import json
import os
import signal
import socket
import sys

# What is loaded as late as in the first call that needs it.
import pydantic.plugin._loader  # noqa: F401
import rich.console
import rich.progress
import rich.table  # noqa: F401
import typer._adapters  # noqa: F401

import flashraid.command.app


def serve(connection: socket.socket) -> None:
    """Serves calls until the socket is closed. A fork returns from here: what it does next is the command."""
    while True:
        message, streams, *_ = socket.recv_fds(connection, 1 << 20, 3)
        if not message:
            os._exit(0)
        child = os.fork()
        if child == 0:
            connection.close()
            call = json.loads(message)
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
    serve(socket.socket(fileno=int(sys.argv[1])))
    flashraid.command.main()
