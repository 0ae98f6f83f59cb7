# tools/imagelib.py: the form of a container image: layers that are the same bytes for the same files, and the archive of an
# OCI image layout, which podman and docker load.
import gzip
import hashlib
import io
import json
import posixpath
import tarfile
import time
from typing import NamedTuple

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


class Entry(NamedTuple):
    """A file with its bytes, a link with its target, or a folder, which has neither."""
    data: bytes | None = None
    link: str | None = None
    mode: int = 0o755
    owner: int = 0


class Layer(NamedTuple):
    """The packed bytes, and the digest of what is packed."""
    packed: bytes
    unpacked_digest: str


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def with_folders(entries):
    """The entries, by path, and the folders above them."""
    whole = dict(entries)
    for path in entries:
        while path := posixpath.dirname(path):
            whole.setdefault(path, Entry())
    return dict(sorted(whole.items()))


def tar(entries, moment):
    """The bytes of an archive: sorted, of one time, with numbers for owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, entry in entries.items():
            member = tarfile.TarInfo(path)
            member.mtime, member.mode, member.uid, member.gid = moment, entry.mode, entry.owner, entry.owner
            if entry.link is not None:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.link, 0o777
            elif entry.data is None:
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(entry.data)
            archive.addfile(member, None if entry.data is None else io.BytesIO(entry.data))
    return packed.getvalue()


def layer(entries, moment):
    unpacked = tar(with_folders(entries), moment)
    return Layer(gzip.compress(unpacked, compresslevel=9, mtime=0), digest(unpacked))


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def image_config(architecture, how, layers, moment):
    """What a runtime starts; `layers` are of (layer, sentence), `how` is the member `config`."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    return {"architecture": architecture, "os": "linux", "created": created, "config": how,
            "rootfs": {"type": "layers", "diff_ids": [one.unpacked_digest for one, _ in layers]},
            "history": [{"created": created, "created_by": sentence} for _, sentence in layers]}


def archive(name, config, layers, annotations, moment):
    """The archive of the image `name:tag`, and the digest of its manifest, by which a registry knows it.

    Beside the OCI layout stands manifest.json, which docker before version 25 asks for."""
    blobs = {}

    def blob(kind, data):
        blobs[f"blobs/sha256/{digest(data).removeprefix('sha256:')}"] = Entry(data, mode=0o644)
        return {"mediaType": kind, "digest": digest(data), "size": len(data)}

    described = blob(CONFIG, as_json(config))
    packed = [blob(LAYER, one.packed) for one in layers]
    manifest = blob(MANIFEST, as_json({"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": packed,
                                       "annotations": annotations}))
    platform = {"architecture": config["architecture"], "os": config["os"]}
    names = {"org.opencontainers.image.ref.name": name.rpartition(":")[2], "io.containerd.image.name": f"docker.io/library/{name}"}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [manifest | {"platform": platform, "annotations": names}]}

    def path_of(descriptor):
        return "blobs/" + descriptor["digest"].replace(":", "/")

    listed = [{"Config": path_of(described), "RepoTags": [name], "Layers": [path_of(one) for one in packed]}]
    plain = {"oci-layout": {"imageLayoutVersion": "1.0.0"}, "index.json": index, "manifest.json": listed}
    files = {path: Entry(as_json(value), mode=0o644) for path, value in plain.items()}
    return tar(with_folders(blobs | files), moment), manifest["digest"]
