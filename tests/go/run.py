"""tests/go/run.py: makes the client of this folder from packaging/rankd.proto, and runs it against `rankd serve`.

    run.py RANKD [GO]

It downloads modules of Go, so only `ctest --build-config go` runs it. Exit status 77 means skipped."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTRACT = HERE.parents[1] / "packaging/rankd.proto"
MAKERS = ("google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc")


def must(*words, **options):
    """Runs a program; ends with what it printed if it fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def make_client(go, protoc, folder):
    """Returns the path of the client, built in a folder."""
    for each in ("go.mod", "go.sum", "client.go"):
        shutil.copy(HERE / each, folder)
    for maker in MAKERS:
        must(go, "build", "-o", f"{folder}/bin/", maker, cwd=folder)
    package = "rankd.test/client/rankdpb"
    options = [f"--{name}_{option}" for name in ("go", "go-grpc")
               for option in (f"out={folder}", "opt=module=rankd.test/client", f"opt=Mrankd.proto={package}")]
    plugins = [f"--plugin={folder}/bin/protoc-gen-{name}" for name in ("go", "go-grpc")]
    must(protoc, f"-I{CONTRACT.parent}", *plugins, *options, CONTRACT.name)
    must(go, "build", "-o", folder / "client", ".", cwd=folder)
    return folder / "client"


def main():
    rankd = sys.argv[1]
    go = sys.argv[2] if len(sys.argv) > 2 else shutil.which("go")
    protoc = shutil.which("protoc")
    if not go or not protoc:
        print("skipped: go and protoc are needed")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="rankd_go_") as scratch:
        folder = Path(scratch)
        client = make_client(go, protoc, folder)
        demo = folder / "demo"
        must(rankd, "init", "demo", demo, "--users", "300", "--media", "3000")
        must(rankd, "load", "--project", demo)
        words = [rankd, "serve", "--project", demo, "--events", folder / "events", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            try:
                address = re.search(r"http://(\S+)", server.stdout.readline()).group(1)
                print(must(client, address), end="")
            finally:
                server.terminate()
        print(must(go, "list", "-m", "google.golang.org/grpc", cwd=folder), end="")


if __name__ == "__main__":
    main()
