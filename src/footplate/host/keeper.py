"""The keeper: a small program, parent of every agent, that leaves nothing behind when it goes.

Runs as a plain file (`python -I -S keeper.py FD MARKER [STATE_DIR]`) in one thread: so it may fork and exec
by hand, and PDEATHSIG means what it says. It loads the standard library and its neighbours `keeping` (the
loop), `birth`, `channel` and `table`, as a package of their own; nothing else of Footplate.

FD is one end of a Unix stream socket. A frame is a length (4 bytes), the number of descriptors that come
with it (1 byte) and JSON. Each side first says `{"type": "hello", "v": 1}`. Then

    spawn {id, argv, env, cwd, marker?, pdeathsig?, sweep_on_exit?, limits?, oom_score_adj?, layers?, tty?}
                              -> spawned {id, pid, start_time, marker} + stdin, stdout, stderr
                               | spawn_failed {id, errno, reason, stage}
                                 stage: record | pipe | fork | limits | cwd | exec
                                 With `tty` ([rows, columns]) its stdin, stdout and stderr are a terminal, whose
                                 other end comes as stdin and as stdout; stderr is at its end at once
    signal {id, signum}          to a living agent; one that is gone is left alone. With `layers` (a sandbox that
                                 hands on no signal) to the process so many below our child, unless it is SIGKILL
    end {id, term_s, kill_s}     SIGTERM, after term_s SIGKILL, then sweep (after kill_s more at the latest)
    sweep {id}                -> swept {id, pids, survivors}: its descendants, not the agent itself
    list {}                   -> listed {agents}
    unasked:                     exited {id, code, signal} and swept after it; refused {id, reason}, crashed {reason}

When the socket closes or SIGTERM comes, it ends every agent and goes. A descendant is what stands below the
keeper in /proc (it is a subreaper: strays come to it) or carries our FOOTPLATE_RUN in its environment; an
unmarked stray in a session of its own is swept with the last agent. Without /proc (macOS): groups only.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __import__("host.keeping")
    sys.modules["host.keeping"].main(*sys.argv[1:])
