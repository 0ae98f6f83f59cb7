"""python/tests/test_equal.py: answers are those of the program, byte for byte, for plans, data and requests that a seed makes.

  python python/tests/test_equal.py --requests 10000"""
import argparse
import json
import random
import re
import sys
import tempfile
from pathlib import Path

from support import REPOSITORY, rankd, skip_without

skip_without("rankd")
sys.path.insert(0, str(REPOSITORY / "tests"))

from oracle.compare import make_case, make_project  # noqa: E402

import rankd as package  # noqa: E402

# Cursors have the time at which they were made, and explanations have times.
CURSOR = re.compile(r'"next_cursor":"[^"]*"')
TIMED = ("explain", "deadline_ms")
RANKED_ALONE = 4  # requests of each plan that `rankd rank` answers, too


def without_cursor(text):
    return CURSOR.sub('"next_cursor":""', text)


def must(condition, sentence):
    if not condition:
        sys.exit(sentence)


def compare_plan(project, ranker, name, lines):
    """Compares the answers to these lines."""
    requests = project.folder / "requests.ndjson"
    requests.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    words = ("--project", project.folder, "--plan", name)
    theirs = rankd("batch", *words, "--allow-degraded", "--in", requests, check=False).decode()
    ours = "".join(line + "\n" for line in ranker.rank_many(lines, plan=name, allow_degraded=True).lines())
    must(without_cursor(ours) == without_cursor(theirs), f"{name}: rank_many and rankd batch differ")
    for line in random.Random(name).sample(lines, min(RANKED_ALONE, len(lines))):
        theirs = rankd("rank", *words, "--request", line, check=False).decode()
        try:
            ours = ranker.rank({**json.loads(line), "plan": name}).json
            theirs = rankd("rank", *words, "--request", package._request_text({**json.loads(line), "plan": name}), check=False).decode()
        except package.RankdError as error:
            ours, theirs = error.code, json.loads(theirs)["error"]["code"] + "\n"
        must(without_cursor(ours) + "\n" == without_cursor(theirs), f"{name}: rank and rankd rank differ for {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    compared, seed, plans = 0, options.seed, 0
    while compared < options.requests:
        with tempfile.TemporaryDirectory(prefix="rankd_equal_") as scratch:
            project = make_project(Path(scratch) / "project", seed)
            cases = [make_case(project.world, seed * 20 + number, 120) for number in range(20)]
            for case in cases:
                (project.folder / f"plans/{case.plan['plan_name']}.json").write_text(json.dumps(case.plan), encoding="utf-8")
            rankd("load", "--project", project.folder)
            with package.Ranker(project.folder, threads=2) as ranker:
                valid = {each["plan"] for each in ranker.plans()}
                for case in cases:
                    lines = [json.dumps({name: value for name, value in each.items() if name not in (*TIMED, "experiments")})
                             for each in case.requests]
                    if case.plan["plan_name"] in valid:
                        compare_plan(project, ranker, case.plan["plan_name"], lines)
                        compared, plans = compared + len(lines), plans + 1
        seed += 1
    print(f"{compared} requests to {plans} plans have the same answers")


if __name__ == "__main__":
    main()
