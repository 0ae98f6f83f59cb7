# tests/package/image.py: the image of rankd is made twice, compared, checked against its digests, unpacked, and used: by a
# user without rights, with a root that cannot be written to, in a user namespace. No runtime of containers is needed.
# Exit status 77: skipped, with the reason.
#
#   python3 tests/package/image.py [--packages DIR]     packages that tools/make_packages has built
import argparse
import contextlib
import gzip
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path

from checks import must, run

SOURCES = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "tests/tools"))
import deployment  # noqa: E402
from tree import load  # noqa: E402

make_image = load("make_image")
version = make_image.version
MOST_BYTES = 25_000_000
# Prints the user, what may be written to, and the capabilities.
RIGHTS = """echo "$UID"; (: >/etc/new) 2>/dev/null && echo root; : >new && echo project
while read -r name value; do [[ $name == CapEff: ]] && echo "$value"; done </proc/self/status
exit 0"""
REQUEST = {"user_id": 42, "plan": "home_feed"}


def missing(packages):
    """Why the image cannot be made and used here, or nothing."""
    for tool in ("dpkg-query", "dpkg-deb", "readelf", "unshare"):
        if not shutil.which(tool):
            return f"{tool} is missing"
    if not list(packages.glob("rankd_*.deb")):
        return f"{packages} has no packages: tools/make_packages builds them"
    tried = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "mount", "--bind", "/usr", "/usr"],
                           capture_output=True, text=True, check=False)
    return f"no user namespaces: {tried.stderr.strip()}" if tried.returncode else ""


def make_twice(packages, scratch):
    """The archive and the bill of materials; both are the same bytes when they are made again."""
    made = []
    for folder in (scratch / "first", scratch / "second"):
        run(SOURCES / "tools/make_image", "--packages", packages, "--out", folder)
        made.append({file.name: file.read_bytes() for file in folder.iterdir()})
    name = f"rankd-{version(SOURCES)}"
    must(sorted(made[0]) == [f"{name}.spdx.json", f"{name}.tar"], f"there are {sorted(made[0])}")
    must(made[0] == made[1], "the same packages gave other bytes")
    must(len(made[0][f"{name}.tar"]) <= MOST_BYTES, f"the image has {len(made[0][f'{name}.tar'])} bytes")
    return scratch / f"first/{name}.tar", json.loads(made[0][f"{name}.spdx.json"])


class Image:
    """An archive with its blobs, whose digests and sizes were compared."""

    def __init__(self, file):
        with tarfile.open(file) as archive:
            self.files = {one.name: archive.extractfile(one).read() for one in archive if one.isfile()}
        self.used = {"oci-layout", "index.json", "manifest.json"}
        must(json.loads(self.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}, "this is no OCI image layout")
        index = json.loads(self.files["index.json"])
        self.digest = index["manifests"][0]["digest"]
        manifest = json.loads(self.blob(index["manifests"][0]))
        self.config = json.loads(self.blob(manifest["config"]))
        self.layers = [gzip.decompress(self.blob(one)) for one in manifest["layers"]]
        diffs = ["sha256:" + hashlib.sha256(one).hexdigest() for one in self.layers]
        must(self.config["rootfs"]["diff_ids"] == diffs, "the configuration names other layers")
        must(len(self.config["history"]) == len(diffs), "not every layer has its line in the history")
        must(self.used == set(self.files), f"nothing names {sorted(set(self.files) - self.used)}")
        docker = json.loads(self.files["manifest.json"])[0]
        must([docker["Config"], *docker["Layers"]] == [self.path(one) for one in (manifest["config"], *manifest["layers"])],
             "manifest.json names other blobs than the OCI layout")

    @staticmethod
    def path(descriptor):
        return "blobs/" + descriptor["digest"].replace(":", "/")

    def blob(self, descriptor):
        path = self.path(descriptor)
        data = self.files[path]
        self.used.add(path)
        must(hashlib.sha256(data).hexdigest() == path.rpartition("/")[2], f"{path} has another digest")
        must(len(data) == descriptor["size"], f"{path} has {len(data)} bytes, not {descriptor['size']}")
        return data


def check_members(layer, path):
    """The members of a layer: sorted, of one time, of root but for the project, and with no right to become another user."""
    path.write_bytes(layer)
    with tarfile.open(path) as archive:
        members = archive.getmembers()
    names = [member.name for member in members]
    must(names == sorted(set(names)), "the members of a layer are not sorted, or one is there twice")
    must(len({member.mtime for member in members}) == 1, "the members of a layer are of several times")
    for member in members:
        owner = make_image.USER if f"/{member.name}" == make_image.PROJECT else 0
        must((member.uid, member.gid) == (owner, owner), f"{member.name} is of {member.uid}:{member.gid}")
        must(not member.mode & (stat.S_ISUID | stat.S_ISGID), f"{member.name} has the rights of its owner")
        must(not member.mode & 0o022 or member.issym() or member.name == "tmp", f"{member.name} can be written to by others")
    return names


def unpack(image, root, scratch):
    """Fills the folder `root`; the names of all members."""
    root.mkdir()
    names = []
    for layer in image.layers:
        names += check_members(layer, scratch / "layer.tar")
        run("tar", "-C", root, "-xf", scratch / "layer.tar", "--no-same-owner", "--keep-directory-symlink")
    return names


def check_bill(bill, image, names):
    """Each package of the image is in the bill, with its version, and its copyright is in the image."""
    described = [entry["checksums"][0]["checksumValue"] for entry in bill["packages"] if "checksums" in entry]
    must(described == [image.digest.removeprefix("sha256:")], "the bill of materials is of another image")
    inside = {name.rpartition("/")[2] for name in names if name.startswith("var/lib/dpkg/status.d/")}
    listed = {entry["name"] for entry in bill["packages"] if "externalRefs" in entry}
    must(listed == inside and {"rankd", "libc6"} <= listed, f"the bill has {sorted(listed)}, the image {sorted(inside)}")
    for package in listed:
        terms = f"usr/share/doc/{package}/copyright"
        must(terms in names or f"{terms}.gz" in names, f"{package} has no copyright in the image")


class Container:
    """The unpacked image as a runtime runs it: its user, its variables, a read-only root, and the folder of the project."""

    def __init__(self, root, volume, config, rights="rw"):
        self.root, self.volume, self.config, self.rights = root, volume, config, rights

    def command(self, *words):
        how = self.config
        user, group = how["User"].split(":")
        project = f"{self.root}{how['WorkingDir']}"
        script = ('mount --bind "$1" "$1" && mount --bind "$2" "$3" && '
                  'mount --rbind /dev "$1/dev" && mount --rbind /proc "$1/proc" && '
                  'mount -o remount,bind,ro "$1" && mount -o "remount,bind,$7" "$3" && '
                  'root=$1 user=$4 group=$5 wd=$6 && shift 7 && '
                  'exec unshare --user --map-user="$user" --map-group="$group" --root="$root" --wd="$wd" "$@"')
        outer = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", self.root, self.volume, project,
                 user, group, how["WorkingDir"], self.rights, *words]
        return [str(word) for word in outer]

    def start(self, *words):
        variables = dict(one.split("=", 1) for one in self.config["Env"]) | {"PATH": os.environ["PATH"]}
        return subprocess.Popen(self.command(*words), env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def status(self, *words):
        process = self.start(*words)
        printed, errors = process.communicate(timeout=120)
        return process.returncode, printed, errors

    def run(self, *words):
        status, printed, errors = self.status(*words)
        must(status == 0, f"{words} in the image ended with {status}:\n{printed}{errors}")
        return printed

    def rankd(self, *words):
        return self.run(*self.config["Entrypoint"], *words)

    @contextlib.contextmanager
    def serving(self, words):
        """The address of a server with these arguments, but on any free port; it must end well by the signal of the image."""
        words = ["127.0.0.1:0" if word == f"0.0.0.0:{make_image.PORT}" else word for word in words]
        must("127.0.0.1:0" in words, f"the image starts {words}")
        process = self.start(*self.config["Entrypoint"], *words)
        try:
            line = process.stdout.readline()
            must("listening on http://" in line, f"the server did not start: {line}")
            yield line.split()[-1]
        finally:
            process.send_signal(signal.Signals[self.config["StopSignal"]])
            errors = process.communicate(timeout=60)[1]
        must(process.returncode == 0, f"the server ended with {process.returncode}: {errors}")


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def check_rights(container):
    """What a program in the image may do: nothing but write to its project."""
    tried = container.run("/bin/bash", "-c", RIGHTS)
    must(tried.split() == [str(make_image.USER), "project", "0000000000000000"], f"in the image: {tried.split()}")
    (container.volume / "new").unlink()


def check_health(container, address):
    """The health check succeeds at a server, and fails where the answer is another one or nothing listens."""
    probe, path = container.config["Healthcheck"]["Test"][1:]
    host, port = address.removeprefix("http://").split(":")
    container.run(probe, path, host, port)
    must(container.status(probe, "/nothing", host, port)[0] == 1, "the health check takes any answer")
    return probe, path, host, port


def use(container):
    """The demo, in a volume that may be written to while it is made; how many candidates the server gives."""
    printed = container.rankd("--version")
    must(version(SOURCES) in printed, f"rankd --version prints {printed}")
    check_rights(container)
    for words in (("init", "demo"), ("load", "--project"), ("doctor", "--project")):
        container.rankd(*words, make_image.PROJECT)
    container.rights = "ro"
    with container.serving(container.config["Cmd"]) as address:
        asked = check_health(container, address)
        answer = json.loads(ask(f"{address}/v1/rank", REQUEST))
        must(answer["candidates"], f"the server ranks nothing: {answer}")
    must(container.status(*asked)[0] == 1, "the health check succeeds where nothing listens")
    return len(answer["candidates"])


def use_config_map(container, objects):
    """The project of packaging/kubernetes, as a pod has it and starts it."""
    deployment.lay_out(objects, container.volume)
    words = objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    quick = ["0" if before == "--announce-ms" else word for before, word in zip(["", *words], words)]
    request = json.loads((SOURCES / "examples/rerank/request.json").read_text(encoding="utf-8"))
    with container.serving(quick) as address:
        ask(f"{address}/readyz")
        answer = json.loads(ask(f"{address}/v1/rank", request))
        must([one["id"] for one in answer["candidates"]] == [17, 42], f"the pod answers {answer}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=Path, metavar="DIR", default=SOURCES / "build/packages")
    packages = parser.parse_args().packages
    reason = missing(packages)
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        file, bill = make_twice(packages, scratch)
        image = Image(file)
        names = unpack(image, scratch / "root", scratch)
        size = sum(map(len, image.layers))
        check_bill(bill, image, names)
        must(image.config["config"]["User"] == f"{make_image.USER}:{make_image.USER}", "the image does not run as its own user")
        for name in ("volume", "project"):
            (scratch / name).mkdir()
        ranked = use(Container(scratch / "root", scratch / "volume", image.config["config"]))
        use_config_map(Container(scratch / "root", scratch / "project", image.config["config"], "ro"), deployment.read_cluster())
        print(f"{file.stat().st_size / 1e6:.1f} MB, unpacked {size / 1e6:.1f} MB, {len(names)} files and folders, {ranked} candidates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
