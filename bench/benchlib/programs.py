"""bench/benchlib/programs.py: builds the measuring programs of every language whose tools are there, and finds them."""
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path


class Left(Exception):
    """Why the contenders of a language are left out."""


class Builder:
    """Builds in build/bench, unless it is only to find what is there; every method gives the programs."""

    def __init__(self, repository, only_find=False, time_limit_s=1800):
        self.only_find = only_find
        self.bench = repository / "bench"
        self.repository = repository
        self.folder = repository / "build" / "bench"
        self.time_limit_s = time_limit_s

    def run(self, *command, where=None):
        """Ends in Left with the last line that the tool said, when it fails."""
        try:
            done = subprocess.run([str(word) for word in command], cwd=where or self.repository, capture_output=True,
                                  text=True, check=False, timeout=self.time_limit_s)
        except subprocess.TimeoutExpired as late:
            raise Left(f"{command[0]} took longer than {self.time_limit_s} s") from late
        if done.returncode:
            raise Left(f"{Path(str(command[0])).name} {command[1]} failed: {diagnostic(done.stdout + done.stderr)}")
        return done.stdout

    def make(self, *command, where=None):
        if not self.only_find:
            self.run(*command, where=where)

    def cpp(self):
        if not (self.folder / "build.ninja").exists():
            self.make("cmake", "--preset", "bench", "--log-level=WARNING")
        self.make("cmake", "--build", self.folder, "--target", "bench_programs")
        paths = (self.folder / "bench_programs.txt").read_text().split()
        return [Path(path) for path in paths]

    def rust(self):
        cargo = tool("cargo", Path.home() / ".cargo" / "bin" / "cargo")
        with (self.bench / "Cargo.toml").open("rb") as file:
            names = [each["name"] for each in tomllib.load(file)["bin"]]
        folder = self.folder / "cargo"
        os.environ["BENCH_RUSTC"] = self.run(tool("rustc", Path(cargo).parent / "rustc"), "--version").strip()  # the programs do not know it
        self.make(cargo, "build", "--release", "--locked", "--manifest-path", self.bench / "Cargo.toml", "--target-dir",
                  folder, where=self.bench)
        return [folder / "release" / name for name in names]

    def go(self):
        compiler = tool("go", "/usr/local/go/bin/go")
        folder = self.folder / "go"
        folder.mkdir(parents=True, exist_ok=True)
        made = []
        for source in sorted(self.bench.glob("*/go/main.go")):
            program = folder / f"bench_{source.parent.parent.name}_go"
            self.make(compiler, "build", "-o", program, f"./{source.parent.relative_to(self.bench)}", where=self.bench)
            made.append(program)
        return made

    def zig(self):
        sources = sorted(self.bench.glob("*/zig.zig"))
        if not sources:
            return []
        compiler = self.zig_compiler()
        folder = self.folder / "zig"
        folder.mkdir(parents=True, exist_ok=True)
        made = []
        for source in sources:
            program = folder / f"bench_{source.parent.name}_zig"
            self.make(compiler, "build-exe", "-OReleaseFast", "--cache-dir", folder / "cache", f"-femit-bin={program}",
                      "--dep", "harness", f"-Mroot={source}", f"-Mharness={self.bench / 'harness' / 'harness.zig'}")
            made.append(program)
        return made

    def zig_compiler(self):
        """A compiler of the version whose pool is measured: later ones have none. From PyPI where it is not there."""
        packages = self.folder / "zig" / "packages"
        if not (packages / "ziglang").exists():
            self.make(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", packages,
                     "ziglang==0.15.1")
        return packages / "ziglang" / "zig"


def tool(name, otherwise):
    """The path of a tool, looked for in PATH and at its usual place."""
    found = shutil.which(name) or (str(otherwise) if os.access(otherwise, os.X_OK) else None)
    if found is None:
        raise Left(f"{name} is not there")
    return found


def diagnostic(output):
    """The first line that speaks of an error, or the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["nothing said"]
    return next((line for line in lines if "error" in line.lower()), lines[-1])


LANGUAGES = {"C++": "cpp", "Rust": "rust", "Go": "go", "Zig": "zig"}


def build_all(repository, only_find=False, say=lambda text: None):
    """The programs that could be built, and why the others are left out, by language. Ours must be there."""
    builder = Builder(repository, only_find)
    made, left = [], {}
    for language, method in LANGUAGES.items():
        say(f"{'looking for' if only_find else 'building'} the programs in {language}")
        try:
            found = [program for program in getattr(builder, method)() if program.exists()]
        except Left as why:
            if language == "C++":
                raise
            left[language] = str(why)
            say(f"{language} is left out: {why}")
            continue
        if not found:
            left[language] = "nothing was built"
        made += found
    return made, left
