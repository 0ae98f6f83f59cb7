#!/usr/bin/env python3
"""tests/sim/planted.py: plants faults in the product, one at a time, and measures how many seeds a scene needs to find each.

    tests/sim/planted.py BRAID_SIM BUILD [--seeds A..B] [MUTANT…]
    tests/sim/planted.py --list

MUTANT is a name from tests/mutants.toml with a key `scenes`; all of them without one. Each fault is written to its file in
this working tree, the programs of a scene are built in BUILD, and the scene runs until a seed fails. This seed then runs
again, and must fail with the same hash. Afterwards the file has its former text again, and BUILD is built from it. Prints a
row of the table in docs/simulation.md for each fault.

Exit status: 0; 1 when a scene does not notice a fault, or a seed does not repeat; 2 for wrong usage."""
import argparse
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import scenes  # noqa: E402  (the folder is not a package for a program in it)

ROOT = scenes.ROOT


def read_faults():
    """Returns the mutants that name scenes: one for each scene, with the key `scene`."""
    table = tomllib.loads((ROOT / "tests/mutants.toml").read_text(encoding="utf-8"))["mutant"]
    return [{**each, "scene": scene} for each in table for scene in each.get("scenes", [])]


def build(folder, scene):
    targets = [each for each in scenes.SCENES[scene][3] if "/" in each]
    done = subprocess.run(["cmake", "--build", str(folder), "-j2", "--target", *targets], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"the build fails:\n{done.stdout[-4000:]}")


def find_seed(simulator, folder, scene, seeds):
    """Returns the first seed that fails, its hash and the output; (None, "", output) if no seed fails. Does not search for
    the smallest world that fails, which would take many runs."""
    output = ""
    for seed in range(seeds[0], seeds[1] + 1):
        status, output = scenes.simulate(simulator, folder, scene, "run", "--stacks", "off", "--seed", str(seed))
        found = re.search(r"hash ([0-9a-f]{16})", output)
        if status != 0 and found:
            return seed, found[1], output
        if status != 0:
            sys.exit(f"the scene {scene} cannot run:\n{output[-4000:]}")
    return None, "", output


def try_fault(simulator, folder, fault, seeds):
    """Plants a fault, and searches for it. Returns a row of the table, and whether the scene has found the fault."""
    file, scene = ROOT / fault["file"], fault["scene"]
    text = file.read_text(encoding="utf-8")
    if text.count(fault["text"]) != 1:
        sys.exit(f"{fault['name']}: its text must be in {fault['file']} once")
    try:
        file.write_text(text.replace(fault["text"], fault["replacement"]), encoding="utf-8")
        build(folder, scene)
        begin = time.monotonic()
        seed, found, output = find_seed(simulator, folder, scene, seeds)
        seconds = time.monotonic() - begin
        again = find_seed(simulator, folder, scene, (seed, seed))[:2] if seed is not None else None
    finally:
        file.write_text(text, encoding="utf-8")
    is_good = seed is not None and again == (seed, found)
    how = f"{seed - seeds[0] + 1}" if is_good else "**not found**" if seed is None else "**does not repeat**"
    print(f"| `{scene}` | `{fault['name']}` | {how} | {seconds:.0f} |", flush=True)
    if not is_good:
        print(output[-3000:], flush=True)
    return is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the faults and their scenes")
    parser.add_argument("--seeds", default="1..100")
    parser.add_argument("simulator", nargs="?")
    parser.add_argument("build", nargs="?", type=Path)
    parser.add_argument("names", nargs="*", metavar="MUTANT")
    given = parser.parse_intermixed_args()
    faults = read_faults()
    if given.list:
        print("\n".join(f"{each['scene']:10} {each['name']}" for each in faults))
        return 0
    if given.build is None:
        parser.error("braid-sim and the folder of a build are needed")
    if unknown := sorted(set(given.names) - {each["name"] for each in faults}):
        parser.error(f"no mutant with scenes is called {unknown[0]!r}; --list prints them")
    if not re.fullmatch(r"\d+\.\.\d+", given.seeds):
        parser.error(f"--seeds must be a range such as 1..100, got {given.seeds!r}")
    folder = given.build.resolve()
    chosen = [each for each in faults if not given.names or each["name"] in given.names]
    try:
        missed = [each["name"] for each in chosen
                  if not try_fault(given.simulator, folder, each, tuple(map(int, given.seeds.split(".."))))]
    finally:
        for scene in sorted({each["scene"] for each in chosen}):
            build(folder, scene)
    if missed:
        print(f"planted.py: no scene has found {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
