# tools/ctestlib.py: what several tools need to know about the tests that CTest runs.
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
SEED = re.compile(r"\bseed (\d+) \(BRAID_SEED repeats it\)")  # printed by tests/support/seed.hpp
FAILURE = re.compile(r"ERROR: |WARNING: ThreadSanitizer|runtime error: ")

Json = dict[str, Any]


def read_tests(build: Path) -> dict[str, Json]:
    """Returns the tests of a build by name, as ctest describes them."""
    try:
        told = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True,
                              text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{build} holds no tests (./dev build makes them): {error}")
    return {test["name"]: test for test in json.loads(told)["tests"]}


def property_of(test: Json, name: str, default: Any = None) -> Any:
    return next((each["value"] for each in test.get("properties", []) if each["name"] == name), default)


def environment_of(test: Json) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in property_of(test, "ENVIRONMENT", []))


def seed_in(output: str) -> str | None:
    """Returns the seed that repeats a failure. A program prints one for each case, so the last one before the failure counts."""
    failure = FAILURE.search(output)
    seeds = SEED.findall(output[:failure.start()] if failure else output)
    return seeds[-1] if seeds else None


def logs_folder() -> Path:
    """Returns the folder for logs: build/logs, or BRAID_LOGS if it is set, for tests of the tools."""
    folder = Path(os.environ.get("BRAID_LOGS") or REPOSITORY / "build" / "logs")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "_", text)
