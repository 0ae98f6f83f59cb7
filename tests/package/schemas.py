# tests/package/schemas.py: packaging/kubernetes is right by the schemas of the oldest and the newest Kubernetes that
# kubernetes-validate has, and packaging/compose.yml by docker compose itself; both find a planted fault. No network is used.
# Exit status 77: skipped, with the reason.
import tempfile
from pathlib import Path

import python_tools
from python_tools import SOURCES, must

OLDEST, NEWEST = "1.25", "1.37"
KUBERNETES = SOURCES / "packaging/kubernetes"
COMPOSE = SOURCES / "packaging/compose.yml"


def misspelt(file, right, wrong, folder):
    text = file.read_text(encoding="utf-8")
    must(right in text, f"{file.name} has no {right}")
    made = folder / file.name
    made.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    return made


def check_kubernetes(validate, folder):
    files = sorted(KUBERNETES.glob("*.yaml"))
    for version in (OLDEST, NEWEST):
        status, printed = python_tools.run(validate, "--strict", "--kubernetes-version", version, *files)
        must(status == 0 and printed.count(" passed for ") == len(files), f"Kubernetes {version}:\n{printed}")
    wrong = misspelt(KUBERNETES / "deployment.yaml", "maxSurge", "maxSurges", folder)
    status, printed = python_tools.run(validate, "--strict", "--kubernetes-version", OLDEST, wrong)
    must(status != 0 and "maxSurges" in printed, f"a misspelt key is passed over:\n{printed}")
    return len(files)


def check_compose(compose, folder):
    status, printed = python_tools.run(compose, "--file", COMPOSE, "--profile", "*", "config", "--quiet")
    must(status == 0 and not printed.strip(), f"docker compose:\n{printed}")
    wrong = misspelt(COMPOSE, "read_only", "readonly", folder)
    status, printed = python_tools.run(compose, "--file", wrong, "config", "--quiet")
    must(status != 0 and "readonly" in printed, f"a misspelt key is passed over:\n{printed}")


def main():
    tools = python_tools.find("kubernetes-validate", "docker-compose")
    with tempfile.TemporaryDirectory() as folder:
        count = check_kubernetes(tools["kubernetes-validate"], Path(folder))
        check_compose(tools["docker-compose"], Path(folder))
    print(f"{count} objects are right for Kubernetes {OLDEST} and {NEWEST}, and so is compose.yml for docker compose")


if __name__ == "__main__":
    main()
