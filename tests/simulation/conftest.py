"""Every test of the simulator runs in a process of its own.

A killed node's coroutines are never closed while its world lives. When they are collected later their `finally` blocks
run on a loop that is gone, in the middle of whatever test happens to run then. A child process that exits at once
collects nothing.
"""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import traceback
import warnings

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a plain test function in a fork of this process, and fail with the traceback that it fails with."""
    if inspect.iscoroutinefunction(inspect.unwrap(pyfuncitem.obj)):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads; this child starts none
        child = os.fork()
    if child == 0:
        gc.freeze()  # the simulator collects often, and what pytest holds is large
        failure = ""
        try:
            pyfuncitem.obj(**arguments)
        except BaseException:  # noqa: BLE001 - the parent raises it
            failure = traceback.format_exc()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(failure))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        pytest.fail(f"the test's process ended with status {status}", pytrace=False)
    if failure := pickle.loads(answer):
        pytest.fail(failure, pytrace=False)
    return True
