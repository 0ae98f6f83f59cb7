"""bench/benchlib/machine.py: where and with what something was measured."""
import datetime
import os
import platform
import subprocess
from pathlib import Path


def first_of(path, key):
    """The value of the first line `key : value` of a file of the system."""
    try:
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    except OSError:
        pass
    return "unknown"


def git(repository, *words):
    done = subprocess.run(["git", *words], cwd=repository, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def describe(repository):
    changed = git(repository, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/report")
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": git(repository, "rev-parse", "--short=12", "HEAD") + (" with changes" if changed else ""),
        "processor": first_of("/proc/cpuinfo", "model name"),
        "processors": len(os.sched_getaffinity(0)),
        "memory_mib": int(first_of("/proc/meminfo", "MemTotal").split()[0]) // 1024,
        "system": f"{platform.system()} {platform.release()}",
        "virtual": "hypervisor" in first_of("/proc/cpuinfo", "flags").split(),
    }
