"""Runs a program that must not outlive the process that asked for it.

Started as `python -m backstay_parts.servers.guard PROGRAM ARGUMENT…`. Standard input is a pipe that only the
asking process holds open: its end, even by kill -9, is the end of the program.
"""

import os
import signal
import subprocess
import sys
import threading

PATIENCE_SECONDS = 10.0


def main(argv: list[str]) -> int:
    """Run the program until it ends, is told to end, or the process that asked for it has gone."""
    program = subprocess.Popen(argv, stdin=subprocess.DEVNULL)  # noqa: S603 - the caller's own command
    signal.signal(signal.SIGTERM, lambda *_: _end(program))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_asker, args=(program,), daemon=True).start()
    return program.wait()


def _end_with_the_asker(program: "subprocess.Popen[bytes]") -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    _end(program)


def _end(program: "subprocess.Popen[bytes]") -> None:
    program.terminate()
    timer = threading.Timer(PATIENCE_SECONDS, program.kill)
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
