"""The keeper: a small program, parent of every agent, that leaves nothing behind when it goes.

Runs as a plain file (`python -I -S keeper.py FD MARKER [STATE_DIR [keep]]`) in one thread: so it may fork and exec
by hand, and PDEATHSIG means what it says. It loads the standard library and its neighbours, as a package of their
own; nothing else of Footplate.

FD is one end of a Unix stream socket, the other is the driver's: the service for which it works. A frame is a length
(4 bytes), the number of descriptors that come with it (1 byte) and JSON. Each side first says `hello {v, min}`: its
version, and the oldest that it understands; the keeper answers `welcome {v}` (the newest that both speak) or `refused`.

    spawn {id, argv, env, cwd, marker?, pdeathsig?, sweep_on_exit?, limits?, oom_score_adj?, layers?, tty?, kept?,
           about?, whole?}
                              -> spawned {id, pid, start_time, marker} + stdin, stdout, stderr
                               | spawn_failed {id, errno, reason, stage}
                                 stage: record | pipe | fork | limits | cwd | exec
                                 With `tty` ([rows, columns]) its stdin, stdout and stderr are a terminal, whose
                                 other end comes as stdin and as stdout; stderr is at its end at once
    signal {id, signum}          to a living agent; one that is gone is left alone. With `layers` (a sandbox that
                                 hands on no signal) to the process so many below our child, unless it is SIGKILL
    end {id, term_s, kill_s}     SIGTERM, after term_s SIGKILL, then sweep (after kill_s more at the latest)
    sweep {id}                -> swept {id, pids, survivors}: its descendants, not the agent itself
    list {}                   -> listed {agents, ...}
    close {}                     end every agent, then go
    unasked:                     exited {id, code, signal} and swept after it; refused {id, reason}, crashed {reason}

When FD closes or SIGTERM comes, it ends every agent and goes. A descendant is what stands below the keeper in /proc
(it is a subreaper: strays come to it) or carries our FOOTPLATE_RUN in its environment; an unmarked stray in a session
of its own is swept with the last agent. Without /proc (macOS): groups only.

With `keep` it outlives its driver. It is the one of its folder, by a lock (else it says `taken {pid}` and goes), and
listens on STATE_DIR/keepers/MARKER.sock, where the next driver finds it; while it has one, another hears `busy {pid}`.
Whoever says `hello {role: "look"}` may `list`, at any time. A driver's `hello` also tells `grace_s` and `spool_limit`.
It has copies of the pipes of every agent, which the driver reads and writes directly; when the driver is gone it ends
those that are not `kept` and drains the others to spools, STATE_DIR/keepers/MARKER/ID.out (whole; when `spool_limit`
bytes are in it the agent has to wait) and ID.err (the end of it; with `whole` all of it, like ID.out). After `grace_s`
without a driver it ends all.

    note {id, kept?, waiting?, about?}     what is to become of it; whether a request of it is open; words for `list`
    hold {id} + lock                       a descriptor to keep open as long as the agent lives: the lock on its session
    close_stdin {id}                       close the copy as well, so that the agent sees the end of its input
    attach {id}               -> attached {...as listed, rest} + stdin, stdout, stderr, both spools, the lock where it
                                 is `locked`; then exited and swept where it came to that. Nothing is drained from
                                 before that answer on
    direct {id}                            the spool is read to its end: from here on the driver reads the pipe itself
    settled {id, upto?}                    what was in the spool (or so many bytes of what was read of it) is stored
                                           elsewhere: it is removed
    give {id, data}                        bytes (as latin-1) that the driver has read and not used: back to the spool
    release {id}                           an agent that has ended is needed no more, nor is its output
    retire {}                              make room for another keeper of the folder; go with the last agent
"""

import os
import sys

if __name__ == "__main__":
    if len(sys.argv) > 4 and os.fork():  # nobody's child: it is there for services to come as well
        os._exit(0)
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __import__("host.keeping")
    sys.modules["host.keeping"].main(*sys.argv[1:])
