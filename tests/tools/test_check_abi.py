# tests/tools/test_check_abi.py: what counts as a symbol of the library, and which changes need another version.
import contextlib
import io
import unittest

from tree import ToolCase


def listed(version, *names):
    return "\n".join([f"# Symbols of libbraid, by tools/check_abi. version {version}", *names, ""])


class CheckAbi(ToolCase):
    tool = "check_abi"

    def compared(self, now, before):
        self.write({"now": now, "before": before})
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = self.module.main([str(self.root / "now"), "--since", str(self.root / "before")])
        return status, printed.getvalue()

    def test_what_came_is_said_and_is_right(self):
        status, printed = self.compared(listed("0.1", "_ZN5braid3oneEv", "_ZN5braid3twoEv"), listed("0.1", "_ZN5braid3oneEv"))
        self.assertEqual(status, 0)
        self.assertIn("1 came and 0 went", printed)

    def test_what_went_needs_another_version(self):
        both, one = ("_ZN5braid3oneEv", "_ZN5braid3twoEv"), ("_ZN5braid3oneEv",)
        status, printed = self.compared(listed("0.1", *one), listed("0.1", *both))
        self.assertEqual(status, 1)
        self.assertIn("1 symbols went, and the version is 0.1 as before", printed)
        self.assertEqual(self.compared(listed("0.2", *one), listed("0.1", *both))[0], 0)

    def test_a_symbol_of_the_library_is_defined_once_and_has_its_name(self):
        found = self.module.of_lines(["0001 T _ZN5braid3oneEv@@BRAID_0.1", "0002 W _ZN5braid4taskIiE3getEv@@BRAID_0.1",
                                      "0003 T _ZSt3two", "0004 D _ZTVN5braid5threeE@@BRAID_0.1", "0000 A BRAID_0.1",
                                      "0005 R _ZNK5braid4four5valueEv"])
        self.assertEqual(found.version, "0.1")
        self.assertEqual(found.names, {"_ZN5braid3oneEv", "_ZTVN5braid5threeE", "_ZNK5braid4four5valueEv"})
        self.assertEqual(found.without_version, {"_ZNK5braid4four5valueEv"})

    def test_what_is_no_library(self):
        self.write({"text": "nothing"})
        with self.assertRaisesRegex(SystemExit, "is no library and no list"):
            self.module.read(self.root / "text")


if __name__ == "__main__":
    unittest.main()
