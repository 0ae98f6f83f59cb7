# tests/package/schemas.py: packaging/kubernetes is right by the schemas of the oldest and the newest Kubernetes that
# kubernetes-validate has, packaging/compose.yml by docker compose itself, and the bills of materials of sources and image by
# spdx-tools; each finds a planted fault. No network is used. Exit status 77: skipped, with the reason.
import json
import sys
import tempfile
from pathlib import Path

import python_tools
from checks import must
from python_tools import SOURCES

sys.path.insert(0, str(SOURCES / "tests/tools"))
from tree import load  # noqa: E402

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


def check_bill(reader, bill, folder):
    file = folder / "bill.spdx.json"
    file.write_text(json.dumps(bill), encoding="utf-8")
    status, printed = python_tools.run(reader, "--infile", file)
    must(status == 0, f"spdx-tools:\n{printed}")
    wrong = bill | {"relationships": [one | {"relatedSpdxElement": "SPDXRef-none"} for one in bill["relationships"]]}
    file.write_text(json.dumps(wrong), encoding="utf-8")
    status, printed = python_tools.run(reader, "--infile", file)
    must(status != 0 and "SPDXRef-none" in printed, f"a relation to nothing is passed over:\n{printed}")


def check_bills(reader, folder):
    digest = "0" * 64
    check_bill(reader, load("make_release").bill_of_materials(SOURCES, "braid-1.2.3", digest), folder)
    rows = [("rankd", "1.2.3-1", "amd64"), ("libstdc++6", "12.2.0-14", "amd64")]
    check_bill(reader, load("make_image").bill_of_materials("rankd-1.2.3", "1.2.3", f"sha256:{digest}", rows, 0), folder)


def main():
    tools = python_tools.find("kubernetes-validate", "docker-compose", "pyspdxtools")
    with tempfile.TemporaryDirectory() as folder:
        count = check_kubernetes(tools["kubernetes-validate"], Path(folder))
        check_compose(tools["docker-compose"], Path(folder))
        check_bills(tools["pyspdxtools"], Path(folder))
    print(f"{count} objects are right for Kubernetes {OLDEST} and {NEWEST}, compose.yml for docker compose, two bills for SPDX")


if __name__ == "__main__":
    main()
