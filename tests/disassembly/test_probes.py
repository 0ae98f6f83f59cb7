# tests/disassembly/test_probes.py: no function of probes.cpp makes an indirect call; those that are meant to are found.
#
# usage: test_probes.py OBJECT…    of probes.cpp and of the library
import re
import sys
import unittest

from calls import Program, demangled, disassembled

# What may be called although its code is not looked at: the system's locks, where a ring is full or empty; memory, where
# an inbox begins or leaves a segment; and what ends the program.
OUTSIDE = re.compile(
    r"pthread_mutex_(lock|unlock)|sched_yield|operator (new|delete)(\[\])?\(.*\)|mem(cpy|move|set)|abort"
    r"|std::(__throw_\w+|terminate)\(.*\)|__cxa_\w+|_Unwind_Resume|__stack_chk_fail")

# What is not followed: a way out of the program.
LEFT_OUT = re.compile(r"__clang_call_terminate")

OWN = ("own_push", "own_pop", "own_yield", "own_yield_to_next", "own_place", "own_take", "own_tick", "own_deque_push",
       "own_deque_pop")


class Probes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = Program([disassembled(each) for each in OBJECTS])

    def diagnostics(self, function):
        return [demangled(str(each)) for each in
                self.program.findings(function, lambda name: OUTSIDE.fullmatch(demangled(name)),
                                      lambda name: LEFT_OUT.fullmatch(demangled(name)))]

    def test_what_a_worker_does_with_its_own_jobs_contains_no_indirect_call(self):
        for function in OWN:
            with self.subTest(function):
                self.assertEqual(self.diagnostics(function), [])

    def test_an_indirect_call_is_found_also_in_a_function_that_is_called(self):
        for function in ("indirect_pop", "calls_indirect_pop"):
            with self.subTest(function):
                self.assertTrue(any(": indirect: call" in each for each in self.diagnostics(function)))


if __name__ == "__main__":
    OBJECTS = sys.argv[1:]
    if not OBJECTS:
        sys.exit("usage: test_probes.py OBJECT…")
    unittest.main(argv=sys.argv[:1])
