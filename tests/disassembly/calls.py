# tests/disassembly/calls.py: which functions of object files make an indirect call, directly or by what they call.
import bisect
import functools
import re
import subprocess
from typing import NamedTuple

FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
SECTION = re.compile(r"^Disassembly of section (.+):$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")
RELOCATION = re.compile(r"^\s*[0-9a-f]+: R_\w+\t(.+)$")
BRANCH = re.compile(r"^(?:(?:notrack|bnd|data16|rex\.W|cs|ds)\s+)*(?:l?call|l?jmp|j[a-z]+|loopn?[ez]?)[lqw]?\s+(\S.*)$")
NEAR = re.compile(r"^[0-9a-f]+ <(.+?)(?:\+0x[0-9a-f]+)?>$")
OFFSET = re.compile(r"([+-])0x([0-9a-f]+)$")
THUNK = re.compile(r"^__(?:x86_indirect_thunk|llvm_retpoline)_")


class Finding(NamedTuple):
    """An instruction that should not be there, and how one gets to it."""
    path: tuple  # names of functions, the first one is where the search began
    address: int
    instruction: str
    why: str

    def __str__(self):
        return f"{' > '.join(self.path)} at {self.address:#x}: {self.why}: {self.instruction}"


class Branch(NamedTuple):
    """A call or a jump. It has no target when it is indirect."""
    address: int
    text: str
    target: str | None


class Function:
    def __init__(self, name, section, address):
        self.name, self.section, self.address = name, section, address
        self.branches = []


class ObjectFile:
    """The functions of one listing of `objdump --disassemble --reloc`, with their branches."""

    def __init__(self, listing):
        self.functions = {}
        self._sections = {}  # name -> its functions, by address
        self._read(listing)
        self._resolve_sections()

    def _read(self, listing):
        section, function, last = "", None, None
        for line in listing.splitlines():
            if found := SECTION.match(line):
                section = found[1]
            elif found := FUNCTION.match(line):
                function = Function(found[2], section, int(found[1], 16))
                self.functions[function.name] = function
                self._sections.setdefault(section, []).append(function)
            elif (found := RELOCATION.match(line)) and last is not None and last.target is not None:
                function.branches[-1] = last = last._replace(target=found[1])
            elif (found := INSTRUCTION.match(line)) and function is not None:
                last = branch_of(int(found[1], 16), found[2].split("#")[0].strip())
                if last is not None:
                    function.branches.append(last)

    def _resolve_sections(self):
        """A relocation names a function, or a section with an offset."""
        for function in self.functions.values():
            function.branches = [branch._replace(target=branch.target and self._function_at(branch.target))
                                 for branch in function.branches]

    def _function_at(self, target):
        offset = OFFSET.search(target)
        name = target[: offset.start()] if offset else target
        if name not in self._sections:
            return name.removesuffix("@plt")
        # What is added counts from the end of the instruction's last four bytes.
        distance = 4 + (int(offset[2], 16) * (1 if offset[1] == "+" else -1) if offset else 0)
        functions = self._sections[name]
        return functions[bisect.bisect_right([each.address for each in functions], distance) - 1].name


def branch_of(address, text):
    """The call or jump that an instruction is, or None."""
    found = BRANCH.match(text)
    if not found:
        return None
    operand = found[1]
    if operand.startswith("*"):
        return Branch(address, text, None)
    near = NEAR.match(operand)
    return Branch(address, text, near[1] if near else operand)


class Program:
    """Several object files together."""

    def __init__(self, listings):
        self.definitions = {}  # name -> each of its definitions
        for listing in listings:
            for name, function in ObjectFile(listing).functions.items():
                self.definitions.setdefault(name, []).append(function)

    def findings(self, start, outside, left_out):
        """Indirect branches of the function `start` and of what it calls and jumps to, and calls of functions that are
        not in these files and of which `outside(name)` does not say that they are harmless. What `left_out(name)`
        says is not followed."""
        if start not in self.definitions:
            return [Finding((start,), 0, "", "there is no such function")]
        found, seen, waiting = [], {start}, [(start,)]
        while waiting:
            path = waiting.pop()
            for function in self.definitions[path[-1]]:
                for branch in function.branches:
                    why = self._diagnostic(branch, outside, left_out)
                    if why:
                        found.append(Finding(path, branch.address, branch.text, why))
                    elif branch.target in self.definitions and branch.target not in seen and not left_out(branch.target):
                        seen.add(branch.target)
                        waiting.append((*path, branch.target))
        return found

    def _diagnostic(self, branch, outside, left_out):
        if branch.target is None or THUNK.match(branch.target):
            return "indirect"
        if branch.target in self.definitions or left_out(branch.target) or outside(branch.target):
            return None
        return f"calls {branch.target}, which is not in these files"


def disassembled(path):
    return subprocess.run(["objdump", "--disassemble", "--reloc", "--no-show-raw-insn", path],
                          capture_output=True, text=True, check=True).stdout


@functools.cache
def demangled(text):
    return subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout.strip()
