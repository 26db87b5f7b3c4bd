"""Process 1 of a container: runs the command, passes signals on to it, and buries every orphan.

Linux gives every process whose parent died to process 1, and throws away signals that process 1 does not handle.
It needs nothing but Python, and imports nothing of the application: `entrypoint.py COMMAND [ARGUMENT…]`.
"""

from __future__ import annotations

import os
import signal
import sys

# A terminal stops jobs with these; process 1 must not stop.
NOT_PASSED_ON = {signal.SIGCHLD, signal.SIGTTIN, signal.SIGTTOU, signal.SIGTSTP}
NOT_FOUND, NOT_RUNNABLE = 127, 126


def main(command: list[str]) -> int:
    """Run the command to its end; returns its exit code, or 128 and the number of the signal that ended it."""
    if not command:
        sys.stderr.write(
            "entrypoint.py: name the command to run, as in: entrypoint.py backstay worker shop:app\n"
        )
        return 2
    # Blocked before there is a child, so that no signal is lost between its start and the first wait.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _become(command)
    return _attend(child)


def _become(command: list[str]) -> None:
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"entrypoint.py: cannot run {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE)


def _attend(child: int) -> int:
    while True:
        number = signal.sigwait(signal.valid_signals())
        if number == signal.SIGCHLD:
            ended = _bury(child)
            if ended is not None:
                return ended
        elif number not in NOT_PASSED_ON:
            # Until it is buried its number is nobody else's.
            os.kill(child, number)


def _bury(child: int) -> int | None:
    """Take in everybody who has ended; returns the exit code of the child once it is among them."""
    ended: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            ended = 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
