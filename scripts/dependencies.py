"""Writes the list of what Footplate is made of: the libraries of the service, and those inside the web page.

    python scripts/dependencies.py            write docs/reference/dependencies.cdx.json
    python scripts/dependencies.py --check    exit 1 when it is stale

It is CycloneDX 1.6 with package addresses (purl) only: where packages are fetched from is not part of it. Versions are
those of constraints.txt and web/package-lock.json, with which the suite is run.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Final

import msgspec
from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parent.parent
LIST: Final = ROOT / "docs" / "reference" / "dependencies.cdx.json"
MACHINE: Final = {
    "extra": "",
    "python_version": "3.11",
    "python_full_version": "3.11.0",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
}
"""The oldest Python that we run on: it needs the most."""


class _Locked(msgspec.Struct):
    version: str = ""
    dev: bool = False
    license: str = ""


class _Lock(msgspec.Struct):
    packages: dict[str, _Locked]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().split()
    return {_plain(name): version for name, _, version in (line.partition("==") for line in lines)}


def _needed(requirement: str) -> str:
    """The package that a requirement names; none when it is for an extra, or for another machine than ours."""
    wanted = Requirement(requirement)
    return _plain(wanted.name) if wanted.marker is None or wanted.marker.evaluate(MACHINE) else ""


def service_packages() -> dict[str, str]:
    """Every library that the service needs, with those that they need, at the versions of the suite."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = _pins()
    extras = project["optional-dependencies"]
    waiting = [_needed(each) for each in (*project["dependencies"], *extras["push"], *extras["otel"])]
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if not name or name in found or name not in pins:
            continue
        found[name] = pins[name]
        try:
            waiting += [_needed(each) for each in requires(name) or ()]
        except PackageNotFoundError:
            continue
    return found


def page_packages() -> dict[str, _Locked]:
    """Every package that is built into the web page."""
    lock = msgspec.json.decode((ROOT / "web" / "package-lock.json").read_bytes(), type=_Lock)
    return {path.rpartition("node_modules/")[2]: each for path, each in lock.packages.items() if path and not each.dev}


def render_list() -> str:
    """The list as CycloneDX."""
    parts: list[dict[str, object]] = [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
        for name, version in sorted(service_packages().items())
    ]
    for name, each in sorted(page_packages().items()):
        part: dict[str, object] = {"type": "library", "name": name, "version": each.version}
        part["purl"] = f"pkg:npm/{name.replace('@', '%40')}@{each.version}"
        if each.license:
            part["licenses"] = [{"expression": each.license}]
        parts.append(part)
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "name": "footplate", "licenses": [{"expression": "Apache-2.0"}]}
        },
        "components": parts,
    }
    return msgspec.json.format(msgspec.json.encode(made), indent=1).decode() + "\n"


def main() -> int:
    """Write the list, or say that it is stale."""
    text = render_list()
    if "--check" not in sys.argv:
        LIST.write_text(text)
        return 0
    if LIST.exists() and LIST.read_text() == text:
        return 0
    print(f"{LIST.relative_to(ROOT)} is stale: run `make reference`")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
