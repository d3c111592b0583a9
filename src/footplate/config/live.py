"""Settings that follow their file: what may change while a service runs is asked here, each time it is needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from footplate.config.places import settings_file
from footplate.config.settings import Settings, load_settings
from footplate.errors import ConfigError

log = logging.getLogger(__name__)
Stamp = tuple[int, int, int]


class LiveSettings:
    """The settings as their file has them now. A file that cannot be used leaves those before in force, and is told."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._path = settings_file(environ)
        self._stamp = self._look()
        self.on_change: Callable[[], None] | None = None
        """Called once settings are in force that were read again."""

    @property
    def now(self) -> Settings:
        """The settings; the file is read again only when it has changed."""
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._settings = load_settings(self._environ)
            except ConfigError as problem:
                log.warning("the settings of before stay in force: %s", problem)
            else:
                if self.on_change is not None:
                    self.on_change()
        return self._settings

    def _look(self) -> Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size, found.st_ino)
