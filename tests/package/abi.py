# tests/package/abi.py: the library that was built names its symbols by its minor version, and has all that it had a moment
# ago. A copy of its list with one symbol more is told from it.
#
#   python3 tests/package/abi.py LIBRARY
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from packagelib import minor_version  # noqa: E402


def check_abi(*words):
    done = subprocess.run([ROOT / "tools/check_abi", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def main(library):
    minor = minor_version(ROOT)
    dynamic = subprocess.run(["readelf", "--dynamic", "--wide", library], capture_output=True, text=True, check=True).stdout
    if f"soname: [libbraid.so.{minor}]" not in dynamic:
        sys.exit(f"the SONAME is not libbraid.so.{minor}:\n{dynamic}")
    status, listed, errors = check_abi(library)
    if status or not listed.startswith(f"# Symbols of libbraid, by tools/check_abi. version {minor}\n"):
        sys.exit(f"the library has no list of symbols of version {minor}:\n{listed[:200]}{errors}")
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        before.write_text(listed, encoding="utf-8")
        status, printed, errors = check_abi(library, "--since", before)
        if status or "0 came and 0 went" not in printed:
            sys.exit(f"the library differs from its own list:\n{printed}{errors}")
        before.write_text(listed + "_ZN5braid4goneEv\n", encoding="utf-8")
        status, printed, errors = check_abi(library, "--since", before)
        if status != 1 or "- braid::gone()" not in printed:
            sys.exit(f"a symbol that went is not missed:\n{printed}{errors}")
    print(f"{listed.count(chr(10)) - 1} symbols of version {minor}")


if __name__ == "__main__":
    main(sys.argv[1])
