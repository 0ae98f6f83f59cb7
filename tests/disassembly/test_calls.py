# tests/disassembly/test_calls.py: listings of a few lines, and what is found in them.
import unittest

from calls import Program

HEAD = "\nDisassembly of section .text:\n\n"


def listing(*functions):
    """Functions of one instruction a line, at addresses that are 16 apart."""
    text = HEAD
    for number, (name, *lines) in enumerate(functions):
        text += f"{number * 16:016x} <{name}>:\n"
        for step, line in enumerate(lines):
            text += line + "\n" if "R_X86" in line else f"{number * 16 + step:4x}:\t{line}\n"
    return text


class Calls(unittest.TestCase):
    def whys(self, *functions, start="f", outside=lambda name: False, left_out=lambda name: False):
        return [each.why for each in Program([listing(*functions)]).findings(start, outside, left_out)]

    def test_calls_and_jumps_through_registers_and_memory_are_indirect(self):
        for line in ("call   *%rax", "call   *0x28(%rax)", "jmp    *%rcx", "jmp    *0x0(,%rax,8)", "notrack jmp *%rdx",
                     "call   *0x0(%rip)        # 7 <f+0x7>"):
            with self.subTest(line):
                self.assertEqual(self.whys(("f", "push   %rbx", line, "ret")), ["indirect"])

    def test_what_is_no_branch_is_none(self):
        self.assertEqual(self.whys(("f", "mov    (%rax),%rbx", "jne    1 <f+0x1>", "lea    0x0(,%rax,8),%rdx", "ret")), [])

    def test_what_is_called_is_looked_at_too(self):
        self.assertEqual(self.whys(("f", "call   10 <g>", "ret"), ("g", "jmp    20 <h>"), ("h", "call   *%rax")),
                         ["indirect"])

    def test_a_relocation_says_what_is_called(self):
        self.assertEqual(self.whys(("f", "call   5 <f+0x5>", "\t\t\t1: R_X86_64_PLT32\tg-0x4", "ret"), ("g", "call   *%rax")),
                         ["indirect"])

    def test_what_is_called_elsewhere_is_a_finding_unless_it_is_known(self):
        functions = (("f", "call   5 <f+0x5>", "\t\t\t1: R_X86_64_PLT32\tlock-0x4", "ret"),)
        self.assertEqual(self.whys(*functions), ["calls lock, which is not in these files"])
        self.assertEqual(self.whys(*functions, outside=lambda name: name == "lock"), [])

    def test_a_function_that_is_left_out_is_not_followed(self):
        self.assertEqual(self.whys(("f", "call   10 <g>", "ret"), ("g", "call   *%rax"), left_out=lambda name: name == "g"), [])

    def test_functions_that_call_each_other_come_to_an_end(self):
        self.assertEqual(self.whys(("f", "call   10 <g>"), ("g", "call   0 <f>")), [])

    def test_a_function_that_is_missing_is_a_finding(self):
        self.assertEqual(self.whys(("f", "ret"), start="other"), ["there is no such function"])
