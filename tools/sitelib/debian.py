# tools/sitelib/debian.py: modules of Debian packages, whatever Python runs, and errors that name the package.
from __future__ import annotations

import importlib
import sys

PACKAGES = {"clang.cindex": "python3-clang-22", "markdown_it": "python3-markdown-it", "pygments": "python3-pygments"}
FOLDER = "/usr/lib/python3/dist-packages"  # all of them are plain Python, so another Python may load them as well


class SiteError(Exception):
    """A sentence for the developer: what is missing, or what cannot be read."""


def module(name: str):
    """The module `name`, from this Python's own packages or from Debian's."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pass
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)
        importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = PACKAGES[name.partition(".")[0] if name not in PACKAGES else name]
        raise SiteError(f"the package {package} is missing ({error}): apt-get install {package}; ./dev site "
                        "and ./dev check install what packages.txt lists for them") from error
