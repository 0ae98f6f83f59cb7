# tests/tools/test_long_runs.py: what tools/long_runs reads, runs, puts on record, and refuses.
import json
import os
from pathlib import Path
from unittest import mock

from tree import ToolCase

TABLE = """
[[run]]
name = "races"
claim = "nothing is lost"
test = "coro/race"
factor = 50
minutes = 1
"""

TESTS = {"tests": [{"name": "coro/race", "command": ["sh", "-c", "echo $BRAID_STRESS $BRAID_IO; exit $(cat status)"],
                    "properties": [{"name": "ENVIRONMENT", "value": ["BRAID_IO=poll"]},
                                   {"name": "WORKING_DIRECTORY", "value": "@root@"}]}]}


class LongRuns(ToolCase):
    tool = "long_runs"

    def build(self, status="0"):
        """A build whose ctest knows one test, which ends as the file `status` says."""
        told = json.dumps(TESTS).replace("@root@", str(self.root))
        self.write({"tests/long_runs.toml": TABLE, "status": status, "tests.json": told, "docs/keep": "",
                    "build/release/keep": "", "bin/ctest": f"#!/bin/sh\ncat {self.root}/tests.json\n"})
        (self.root / "bin/ctest").chmod(0o755)
        path = f"{self.root}/bin:{os.environ['PATH']}"
        patch = mock.patch.dict(os.environ, {"PATH": path})
        patch.start()
        self.addCleanup(patch.stop)

    def record(self):
        return Path(self.root, "build/release/long_runs.jsonl")

    def test_what_passes_is_put_on_record_and_on_the_page(self):
        self.build()
        status, printed = self.run_tool("races")
        self.assertEqual(status, 0, printed)
        self.assertIn("long_runs: 1 of 1 passed", printed)
        line = json.loads(self.record().read_text())
        self.assertEqual((line["name"], line["factor"]), ("races", 50))
        self.assertEqual(self.run_tool("--page")[0], 0)
        page = Path(self.root, "docs/long_runs.md").read_text()
        self.assertIn("nothing is lost", page)
        self.assertIn(f"seed {line['seed']}", page)
        self.assertIn("leave the names out", self.run_tool("races", "--page")[1])
        for other in (TABLE.replace("factor = 50", "factor = 500"), TABLE.replace("coro/race", "coro/other")):
            self.write({"tests/long_runs.toml": other})  # so that is no run on record
            self.assertEqual(self.run_tool("--page")[0], 0)
            self.assertIn("not on record", Path(self.root, "docs/long_runs.md").read_text())

    def test_what_fails_is_told_with_its_last_words_and_is_not_on_record(self):
        self.build(status="3")
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("50 poll", printed)
        self.assertIn("FAILED: status 3; BRAID_SEED=", printed)
        self.assertIn("failed: races", printed)
        self.assertFalse(self.record().exists())
        self.run_tool("--page")
        self.assertIn("not on record", Path(self.root, "docs/long_runs.md").read_text())

    def test_names_that_are_not_there_and_tests_that_are_not_built_are_refused(self):
        self.build()
        self.assertIn("no run is called 'race'; there are: races", self.run_tool("race")[1])
        self.write({"tests.json": '{"tests": []}'})
        self.assertIn("has no test coro/race", self.run_tool()[1])

    def test_a_wrong_table_is_refused_with_the_field(self):
        for wrong, words in ((TABLE.replace("factor = 50", 'factor = "50"'), "`factor` must be there, as int"),
                             (TABLE + "hours = 2\n", "unknown field `hours`"),
                             (TABLE + TABLE, "two runs are called 'races'")):
            self.write({"tests/long_runs.toml": wrong})
            status, printed = self.run_tool("--list")
            self.assertEqual(status, 1)
            self.assertIn(words, printed)
