# tests/tools/test_parts.py: what <braid/braid.hpp> includes, and which parts it leaves out.
import re
import unittest

from tree import TOOLS, load

INCLUDES = load("check_tidy").Includes
ROOT = TOOLS.parent
UMBRELLA = "include/braid/braid.hpp"
LEFT_OUT = {
    "include/braid/execution.hpp": ["braid/coro/execution.hpp", "braid/task/senders.hpp"],
    "include/braid/sim.hpp": [],
    "include/braid/slab.hpp": ["braid/task/job_slab.hpp"],
    "include/braid/threads.hpp": ["braid/thread/chaos.hpp", "braid/thread/fields.hpp", "braid/thread/query.hpp",
                                  "braid/thread/registry.hpp"],
}


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.repository = load("check_tidy").Repository(ROOT)
        cls.includes = INCLUDES(cls.repository)

    def test_the_umbrella_header_leaves_out_four_parts(self):
        reached = self.includes.closure(UMBRELLA)
        for part, headers in LEFT_OUT.items():
            self.assertEqual([f"include/{header}" for header in headers], self.includes.direct(part))
            self.assertNotIn(part, reached)
            for header in headers:
                self.assertNotIn(f"include/{header}", reached)

    def test_it_includes_the_headers_of_all_other_parts(self):
        parts = {path for path in self.repository.files if re.fullmatch(r"include/braid/\w+\.hpp", path)}
        self.assertEqual(parts - set(self.includes.direct(UMBRELLA)), {UMBRELLA, *LEFT_OUT})

    def test_the_headers_of_the_main_parts_name_at_most_290_public_names(self):
        direct = self.includes.direct(UMBRELLA)
        named = {path for part in direct for path in [part, *self.includes.direct(part)]}
        lines = [line.split() for line in self.repository.text("docs/api.txt").splitlines() if not line.startswith("#")]
        self.assertLessEqual(len({line[0] for line in lines if f"include/{line[-1]}" in named}), 290)


if __name__ == "__main__":
    unittest.main()
