# doctor/gdb/braid_symbols.py: names of functions from symbols, as src/base/symbols.cpp shows them; knows nothing of gdb.
import re

MAX_NAME = 200
UNNAMED = "(anonymous namespace)"
PAIRS = {">": "<", ")": "(", "]": "[", "}": "{"}
OPERATOR = re.compile(r"operator(?![A-Za-z0-9_]|$)")


def short_name(name):
    """As src/base/symbols.cpp has it: names of coroutines, and of what cannot be demangled."""
    names = []
    if name.startswith("_ZN"):
        rest = name[3:]
        while match := re.match(r"([1-9][0-9]{0,8})", rest):
            length, begin = int(match[1]), len(match[1])
            part = rest[begin:begin + length]
            names.append("(anonymous namespace)" if part == "_GLOBAL__N_1" else part)
            rest = rest[begin + length:]
        if names:
            return ("::".join(names) + ("<...>" if rest.startswith("I") else ""))[:MAX_NAME]
    if match := re.fullmatch(r"(.*)\(\1(\(.*)::_Z.*\.Frame\*\) \[clone \.actor\]", name):
        name = match[1] + match[2]
    for ending in (" [clone .resume]", " (.resume)"):
        name = name.removesuffix(ending)
    return without_result(name)[:MAX_NAME]


def without_result(function):
    """`f<int>(int)` of `R f<int>(int)`: names of templates begin with what they return."""
    begin, at, opened = 0, 0, []
    while at < len(function):
        before, each = function[at - 1] if at else " ", function[at]
        if not opened:
            if function.startswith(UNNAMED, at):
                at += len(UNNAMED)
                continue
            is_word = before == " " or function.endswith("::", 0, at)
            if is_word and OPERATOR.match(function, at):
                return function[begin:]
            if each == "(" and before != " " and not function.endswith("decltype", 0, at):
                return function[begin:]
            if each == " ":
                begin = at + 1
        follow_bracket(opened, each, before)
        at += 1
    return function


def follow_bracket(opened, each, before):
    """`<` and `>` may be operators, so a bracket of another kind closes what was opened within."""
    if each in "<([{":
        opened.append(each)
    elif each in PAIRS and (each != ">" or (before != "-" and opened and opened[-1] == "<")):
        if PAIRS[each] in opened:
            while opened.pop() != PAIRS[each]:
                pass
