"""The sandbox: what its command line says, and what a real program in it can and cannot do."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from footplate.config.settings import CommonSettings
from footplate.errors import EngineRefused
from footplate.host.child import Process
from footplate.host.confinement import confine, git_folders, program_files
from footplate.host.process import Exit, Keeper, Spawn
from footplate.host.sandbox import ETC, LAYERS, SYSTEM, Mount, Sandbox, in_order, read_sandbox, wrap_bwrap
from footplate.host.sweep import sweep_marked
from footplate.host.table import Table
from tests.bubblewrap import need_bubblewrap

from .conftest import Until

NOBODY = 65534
PLAIN = Sandbox()


# ---- the command line ----


def _after(words: tuple[str, ...], *first: str) -> tuple[str, ...]:
    """What follows these words."""
    for place in range(len(words)):
        if words[place : place + len(first)] == first:
            return words[place + len(first) :]
    raise AssertionError(f"{first} is not in {words}")


def test_the_whole_command_line() -> None:
    system = [word for folder in SYSTEM for word in ("--ro-bind-try", folder, folder)]
    etc = [word for name in ETC for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]
    git = [".gitconfig", ".config/git/attributes", ".config/git/config", ".config/git/ignore"]
    bound = [("--ro-bind-try", f"/home/me/{name}", f"/home/me/{name}") for name in git]
    words = wrap_bwrap(["/usr/bin/agent", "-p"], bwrap="/usr/bin/bwrap", cwd="/src/project", home="/home/me", tmp_mb=1)
    assert words == (
        *("/usr/bin/bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *system,
        *etc,
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", "1048576", "--tmpfs", "/tmp"),
        *("--perms", "1777", "--size", "1048576", "--tmpfs", "/var/tmp"),
        *("--perms", "0700", "--size", "1048576", "--tmpfs", "/home/me"),
        *("--bind", "/src/project", "/src/project"),
        *(word for three in bound for word in three),
        *("--remount-ro", "/", "--setenv", "TMPDIR", "/tmp", "--chdir", "/src/project"),
        *("--", "/usr/bin/agent", "-p"),
    )


def test_the_network_is_shared_unless_it_is_taken_away() -> None:
    assert "--unshare-net" not in wrap_bwrap(["a"], bwrap="b", cwd="/w", home="/h")
    assert "--unshare-net" in wrap_bwrap(["a"], bwrap="b", cwd="/w", home="/h", network=False)


def test_inner_mounts_come_after_outer_ones_and_writing_beats_reading_at_the_same_place() -> None:
    inner, outer, same = Mount("/w/a/b"), Mount("/w", write=True), Mount("/w")
    assert in_order([inner, same, outer]) == [outer, inner]
    assert in_order([outer, same, inner]) == [outer, inner]


def test_other_names_of_a_place_become_links() -> None:
    words = wrap_bwrap(["a"], bwrap="b", cwd="/real", home="/h", links={"/alias": "/real"})
    assert _after(words, "--symlink", "/real")[0] == "/alias"


def test_the_settings_of_an_engine_say_whether_there_is_a_sandbox() -> None:
    assert read_sandbox(CommonSettings()) is None
    section = {"sandbox": "bwrap", "sandbox_read": ["/a"], "sandbox_write": ["/b"], "sandbox_network": False}
    assert read_sandbox(msgspec.convert(section, CommonSettings)) == Sandbox(
        readable=("/a",), writable=("/b",), network=False
    )


# ---- what a program needs ----


def test_a_program_behind_a_link_is_there_under_both_names(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "tool-1.2").write_bytes(b"\x7fELF")
    (tmp_path / "bin" / "tool").symlink_to(tmp_path / "tool-1.2")
    real, link = str(tmp_path / "tool-1.2"), str(tmp_path / "bin" / "tool")
    assert program_files(link, "", "/home/me") == [Mount(real), Mount(real, link)]


def test_a_script_brings_its_packages_and_its_interpreter(tmp_path: Path) -> None:
    package = tmp_path / ".nvm" / "v22" / "lib" / "node_modules" / "agent"
    node = tmp_path / ".nvm" / "v22" / "bin" / "node"
    for folder in (package, node.parent):
        folder.mkdir(parents=True)
    (package / "cli.js").write_text("#!/usr/bin/env -S node --flag\n")
    node.write_bytes(b"\x7fELF")
    node.chmod(0o755)
    places = {mount.place for mount in program_files(str(package / "cli.js"), str(node.parent), str(tmp_path))}
    assert places == {
        str(package / "cli.js"),
        str(package.parent),
        str(node),
        str(tmp_path / ".nvm" / "v22"),
    }


def test_a_program_next_to_private_files_does_not_bring_them_along(tmp_path: Path) -> None:
    (tmp_path / ".local" / "bin").mkdir(parents=True)
    script, python = tmp_path / ".local" / "bin" / "agent", tmp_path / ".local" / "bin" / "python3"
    script.write_text(f"#!{python}\n")
    python.write_bytes(b"\x7fELF")
    assert {mount.place for mount in program_files(str(script), "", str(tmp_path))} == {str(script), str(python)}


def test_a_program_of_the_machine_needs_nothing_more() -> None:
    assert program_files("/usr/bin/env", "/usr/bin", "/home/me") == []


def test_without_bubblewrap_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(EngineRefused, match="apt-get install -y bubblewrap"):
        confine(["agent"], sandbox=Sandbox(), env={}, cwd=str(tmp_path), places=str(tmp_path))


@pytest.mark.parametrize("folder", ["/", "/home", "/home/me", "/usr/share"])
def test_a_folder_that_would_open_everything_is_refused(folder: str) -> None:
    need_bubblewrap()
    with pytest.raises(EngineRefused, match="folder of a project"):
        confine(["agent"], sandbox=Sandbox(), env={"HOME": "/home/me"}, cwd=folder)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    need_bubblewrap()
    (tmp_path / "project").mkdir()
    (tmp_path / "file").touch()
    env, writes = {"HOME": "/home/me"}, (str(tmp_path / "file" / "below"),)
    with pytest.raises(EngineRefused, match="file/below cannot be made"):
        confine(["agent"], sandbox=Sandbox(), env=env, cwd=str(tmp_path / "project"), writes=writes)


# ---- git ----


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A worktree whose repository is elsewhere."""
    main = tmp_path / "main"
    main.mkdir()
    _git(main, "init", "-q", ".")
    _git(main, "commit", "-q", "--allow-empty", "-m", "first")
    _git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    return tmp_path / "tree"


def test_the_repository_of_a_worktree_is_found(worktree: Path) -> None:
    assert git_folders(str(worktree)) == (str(worktree.parent / "main" / ".git"),)
    assert git_folders(str(worktree.parent / "main")) == ()


def test_a_forged_link_to_a_repository_opens_nothing(worktree: Path, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    forged = agent / "worktrees" / "x"
    forged.mkdir(parents=True)
    secrets = tmp_path / "secrets"
    for folder in (secrets / "objects", secrets / "worktrees" / "x"):
        folder.mkdir(parents=True)
    (secrets / "HEAD").touch()
    (forged / "gitdir").write_text(str(agent / ".git"))
    (forged / "commondir").write_text(str(secrets))
    for target in (secrets, secrets / "worktrees" / "x", forged, worktree.parent / "main" / ".git", "/"):
        (agent / ".git").write_text(f"gitdir: {target}\n")
        assert git_folders(str(agent)) == (), target


# ---- in the sandbox ----


class Room:
    """A home with a secret, a project, and a way to run a script in a sandbox there, as some user."""

    def __init__(self, folder: Path, user: int) -> None:
        self.home, self.project, self.outside = folder / "home", folder / "home" / "project", folder / "outside"
        self.user = user
        for each in (self.project, self.outside):
            each.mkdir(parents=True)
        (self.home / "secret").write_text("hush")
        (self.outside / "secret").write_text("hush")
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home)}
        self.own()

    def own(self) -> None:
        """Everything here belongs to the user."""
        folder = self.home.parent
        for each in (folder, *folder.rglob("*")):
            os.chown(each, self.user, self.user, follow_symlinks=False)

    def run(
        self, script: str, sandbox: Sandbox = PLAIN, *, writes: tuple[str, ...] = (), reads: tuple[str, ...] = ()
    ) -> tuple[int, str]:
        """The exit code, and all that was said."""
        argv = confine(
            ["sh", "-c", script], sandbox=sandbox, env=self.env, cwd=str(self.project), writes=writes, reads=reads
        )
        self.own()
        done = subprocess.run(
            argv,
            env=self.env,
            cwd=self.project,
            user=self.user,
            group=self.user,
            extra_groups=[] if os.geteuid() == 0 else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode().strip()


@pytest.fixture(params=["as ourselves", "as another user"])
def room(request: pytest.FixtureRequest) -> Iterator[Room]:
    """A room of ourselves, and one of a user without any rights where we may be one."""
    need_bubblewrap()
    if request.param == "as another user" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))  # pytest's own folders are closed to others
    yield Room(folder, os.geteuid() if request.param == "as ourselves" else NOBODY)
    shutil.rmtree(folder)


def test_the_project_can_be_written_and_the_exit_code_comes_through(room: Room) -> None:
    assert room.run("pwd; echo kept > file; cat file; exit 7") == (7, f"{room.project}\nkept")
    assert (room.project / "file").read_text() == "kept\n"
    assert (room.project / "file").stat().st_uid == room.user


@pytest.mark.parametrize("name", ["home/secret", "outside/secret"])
def test_files_outside_of_the_project_are_not_there(room: Room, name: str) -> None:
    path = room.home.parent / name
    code, said = room.run(f"cat {path}")
    assert (code, "No such file" in said) == (1, True)


@pytest.mark.parametrize("path", ["/etc/shadow", "/root/.bashrc", "/var/log", "/run", "/proc/1/root/etc/shadow"])
def test_the_machine_keeps_its_own_to_itself(room: Room, path: str) -> None:
    assert room.run(f"test ! -e {path}") == (0, "")


@pytest.mark.parametrize("path", ["/x", "/etc/x", "/usr/x", "/bin/x", "/opt/x"])
def test_nothing_but_the_project_can_be_written(room: Room, path: str) -> None:
    code, said = room.run(f"echo x > {path}")
    assert code != 0
    assert "Read-only" in said or "nonexistent" in said, said


def test_tmp_and_home_are_private_and_forgotten(room: Room) -> None:
    assert room.run("echo x > /tmp/kept; echo x > ~/kept; echo x > $TMPDIR/other; ls /tmp ~") == (
        0,
        f"/tmp:\nkept\nother\n\n{room.home}:\nkept\nproject",
    )
    assert not (room.home / "kept").exists()
    assert room.run("ls /tmp ~") == (0, f"/tmp:\n\n{room.home}:\nproject")


def test_tmp_has_a_size(room: Room) -> None:
    code, said = room.run("head -c 2M /dev/zero > /tmp/big", Sandbox(tmp_mb=1))
    assert (code != 0, "No space left" in said) == (True, True)


def test_nothing_can_be_gained_and_no_other_process_is_seen(room: Room) -> None:
    code, said = room.run("grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; set -- /proc/[0-9]*; echo $# $$")
    assert (code, said.split()) == (0, ["CapEff:", "0" * 16, "NoNewPrivs:", "1", "2", "2"])


def test_more_can_be_named_to_read_and_to_write(room: Room) -> None:
    outside = str(room.outside)
    assert room.run(f"cat {outside}/secret", Sandbox(readable=(outside,))) == (0, "hush")
    assert room.run(f"echo x > {outside}/new", Sandbox(readable=(outside,)))[0] != 0
    assert room.run(f"echo x > {outside}/new", Sandbox(writable=(outside,))) == (0, "")
    assert (room.outside / "new").exists()


def test_what_the_engine_writes_is_made_and_what_of_it_is_shared_stays_as_it_is(room: Room) -> None:
    config, shared = room.project.parent / ".engine", room.project.parent / ".engine" / "settings.json"
    config.mkdir()
    shared.write_text("{}")
    script = f"echo x > {config}/session; cat ~/.state.json; echo x > {shared}"
    reads = (str(shared), str(config / "missing"))
    code, said = room.run(script, writes=(str(config), "~/.state.json"), reads=reads)
    assert code != 0
    assert said.startswith("{}")
    assert "Read-only" in said
    assert (config / "session").exists()
    assert (room.home / ".state.json").exists()


def test_without_the_network_there_is_only_the_loop(room: Room) -> None:
    code, said = room.run("tail -n +3 /proc/net/dev | cut -d: -f1", Sandbox(network=False))
    assert (code, said.split()) == (0, ["lo"])


def test_a_project_behind_a_link_is_known_by_both_names(room: Room) -> None:
    link = room.home.parent / "link"
    link.symlink_to(room.project)
    argv = confine(["sh", "-c", f"pwd -P; ls -d {link}/."], sandbox=Sandbox(), env=room.env, cwd=str(link))
    done = subprocess.run(argv, env=room.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [str(room.project), f"{link}/."]), done.stderr


def test_git_works_in_a_project_and_in_a_worktree(worktree: Path) -> None:
    need_bubblewrap()
    home = worktree.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = me\nemail = me@example.org\n")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    script = "echo x > file && git add file && git commit -q -m second && git log --oneline | wc -l"
    for folder in (worktree, worktree.parent / "main"):
        argv = confine(["sh", "-c", script], sandbox=Sandbox(), env=env, cwd=str(folder))
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr


# ---- its life under the keeper ----


async def _spawn(keeper: Keeper, folder: Path, script: str) -> Process:
    need_bubblewrap()
    project = folder / "project"
    project.mkdir()
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    argv = confine(["sh", "-c", script], sandbox=Sandbox(), env=env, cwd=str(project))
    process = await keeper.spawn(Spawn(argv=argv, env=env, cwd=str(project), layers=LAYERS))
    block = await process.read()
    assert block is not None, process.stderr_tail()
    assert block.lines.strip() == b"ready"
    return process


ORDERLY = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
STUBBORN = "trap '' TERM; (setsid sleep 1000 &); echo ready; while :; do sleep 0.05; done"


async def test_a_signal_reaches_the_agent_itself(keeper: Keeper, tmp_path: Path) -> None:
    process = await _spawn(keeper, tmp_path, ORDERLY)
    process.signal(signal.SIGTERM)
    block = await process.read()
    assert block is not None
    assert block.lines.strip() == b"asked"
    assert await process.wait() == Exit(code=3)
    await process.end()


async def test_the_ladder_asks_first(keeper: Keeper, tmp_path: Path) -> None:
    process = await _spawn(keeper, tmp_path, ORDERLY)
    assert await process.end(close_wait=0) == Exit(code=3)


async def test_the_ladder_kills_what_does_not_listen_with_all_that_it_started(keeper: Keeper, tmp_path: Path) -> None:
    process = await _spawn(keeper, tmp_path, STUBBORN)
    members = Table().below([process.pid])
    assert len(members) >= 3  # the first process, the agent, the one that moved away
    assert await process.end(close_wait=0, term_wait=0.1) == Exit(signal=signal.SIGKILL)
    assert not members & Table().seen.keys()


async def test_closing_stdin_reaches_the_agent(keeper: Keeper, tmp_path: Path) -> None:
    process = await _spawn(keeper, tmp_path, "echo ready; cat >/dev/null; exit 5")
    assert await process.end() == Exit(code=5)


async def test_a_sandbox_does_not_outlive_a_killed_keeper(
    tmp_path: Path, until: Until, gone: Callable[[int], bool]
) -> None:
    keeper = await Keeper.start()
    process = await _spawn(keeper, tmp_path, STUBBORN)
    members = {process.pid, *Table().below([process.pid])}
    os.kill(keeper.pid, signal.SIGKILL)
    await until(lambda: all(map(gone, members)))
    await process.end()
    await keeper.close()
    assert (await asyncio.to_thread(sweep_marked, [process.marker])).pids == ()
