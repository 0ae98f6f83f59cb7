# tests/package/deployment.py: packaging/compose.yml and packaging/kubernetes agree with each other, with the image that
# tools/make_image makes, with docs/serving.md, and with the options of rankd. Keys that the list below does not have fail, as
# a cluster drops a misspelt key without a word. Where there is PyYAML it must read the same.
#
#   python3 tests/package/deployment.py [RANKD]
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import must

SOURCES = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "tests/tools"))
import yaml_subset  # noqa: E402
from tree import load  # noqa: E402

make_image = load("make_image")
IMAGE = f"rankd:{make_image.version(SOURCES)}"
KUBERNETES = SOURCES / "packaging/kubernetes"

# What a value may be: a type, a tuple of values, a mapping by key, [what each item is], or {"*": what each value is}.
TEXTS = {"*": str}
META = {"name": str, "labels": TEXTS, "annotations": TEXTS}
SELECTOR = {"matchLabels": TEXTS}
PROBE = {"httpGet": {"path": str, "port": ("http",)}, "periodSeconds": int, "failureThreshold": int, "timeoutSeconds": int}
CONTAINER = {
    "name": str, "image": str, "args": [str], "ports": [{"name": str, "containerPort": int}],
    "startupProbe": PROBE, "livenessProbe": PROBE, "readinessProbe": PROBE,
    "resources": {"requests": TEXTS, "limits": TEXTS},
    "securityContext": {"allowPrivilegeEscalation": (False,), "readOnlyRootFilesystem": (True,), "capabilities": {"drop": [str]}},
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
POD = {
    "automountServiceAccountToken": bool, "enableServiceLinks": bool, "terminationGracePeriodSeconds": int,
    "securityContext": {"runAsNonRoot": (True,), "runAsUser": int, "runAsGroup": int, "seccompProfile": {"type": str}},
    "topologySpreadConstraints": [{"maxSkew": int, "topologyKey": str, "labelSelector": SELECTOR,
                                   "whenUnsatisfiable": ("ScheduleAnyway", "DoNotSchedule")}],
    "containers": [CONTAINER],
    "volumes": [{"name": str, "configMap": {"name": str, "items": [{"key": str, "path": str}]}}],
}
FORMS = {
    ("apps/v1", "Deployment"): {"metadata": META, "spec": {
        "revisionHistoryLimit": int, "minReadySeconds": int, "selector": SELECTOR, "template": {"metadata": META, "spec": POD},
        "strategy": {"type": ("RollingUpdate",), "rollingUpdate": {"maxSurge": int, "maxUnavailable": int}}}},
    ("v1", "Service"): {"metadata": META, "spec": {"selector": TEXTS, "ports": [{"name": str, "port": int, "targetPort": str}]}},
    ("v1", "ConfigMap"): {"metadata": META, "immutable": (True,), "data": TEXTS},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {"metadata": META, "spec": {
        "scaleTargetRef": TEXTS, "minReplicas": int, "maxReplicas": int,
        "metrics": [{"type": ("Resource",), "resource": {"name": ("cpu", "memory"),
                                                         "target": {"type": ("Utilization",), "averageUtilization": int}}}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": int}}}},
    ("policy/v1", "PodDisruptionBudget"): {"metadata": META, "spec": {"maxUnavailable": int, "selector": SELECTOR}},
}
SERVICE = {
    "image": str, "command": [str], "user": str, "read_only": (True,), "cap_drop": [str], "security_opt": [str],
    "deploy": {"replicas": int}, "ports": [str], "volumes": [str], "profiles": [str], "network_mode": str,
    "healthcheck": {"test": [str], "interval": str, "timeout": str, "start_period": str, "retries": int},
    "stop_grace_period": str, "restart": str,
}
COMPOSE = {"name": str, "services": {"*": SERVICE}, "volumes": {"*": {}}}


def must_equal(one, other, what):
    must(one == other, f"{what}: {one!r} is not {other!r}")


def check_form(value, form, where):
    """The value has the form, and no key besides."""
    if isinstance(form, type):
        must(type(value) is form, f"{where}: {value!r} is no {form.__name__}")
    elif isinstance(form, tuple):
        must(value in form, f"{where}: {value!r} is none of {form}")
    elif isinstance(form, list):
        must(isinstance(value, list) and value, f"{where}: {value!r} is no list")
        for at, item in enumerate(value):
            check_form(item, form[0], f"{where}[{at}]")
    else:
        must(isinstance(value, dict), f"{where}: {value!r} is no mapping")
        for key, item in value.items():
            must(key in form or "*" in form, f"{where}: there is no key {key}")
            check_form(item, form.get(key, form.get("*")), f"{where}.{key}")


def read(path):
    text = path.read_text(encoding="utf-8")
    try:
        value = yaml_subset.parse(text)
    except ValueError as error:
        sys.exit(f"{path.name}: {error}")
    try:
        import yaml
        must_equal(value, yaml.safe_load(text), f"{path.name} as PyYAML reads it")
    except ImportError:
        pass
    return value


def read_cluster():
    """The objects by kind."""
    objects = {}
    for path in sorted(KUBERNETES.glob("*.yaml")):
        value = read(path)
        kind = (value.pop("apiVersion", None), value.pop("kind", None))
        must(kind in FORMS, f"{path.name}: {kind} is not known")
        must(kind[1] not in objects, f"{path.name}: there are two of {kind[1]}")
        check_form(value, FORMS[kind], path.name)
        objects[kind[1]] = value
    must_equal(sorted(objects), sorted(kind for _, kind in FORMS), "the kinds of objects")
    return objects


def option(words, name):
    must(name in words, f"{name} is missing in {words}")
    return words[words.index(name) + 1]


def check_words(words, where):
    """Arguments that serve what the image serves, at its port."""
    must_equal(words[0], "serve", where)
    must_equal(option(words, "--project"), make_image.PROJECT, f"{where}: --project")
    must_equal(option(words, "--listen"), f"0.0.0.0:{make_image.PORT}", f"{where}: --listen")


def stop_seconds(words):
    """How long `rankd serve` may take to stop."""
    return (int(option(words, "--announce-ms")) + int(option(words, "--grace-ms"))) / 1000


def check_endpoint(path):
    page = (SOURCES / "docs/serving.md").read_text(encoding="utf-8")
    must(f"| `GET {path}` |" in page, f"docs/serving.md has no endpoint {path}")


def check_pod(pod):
    user = {"runAsNonRoot": True, "runAsUser": make_image.USER, "runAsGroup": make_image.USER}
    must_equal(pod["securityContext"], user | {"seccompProfile": {"type": "RuntimeDefault"}}, "the user of the pod")
    container = pod["containers"][0]
    must_equal(container["image"], IMAGE, "the image of the pod")
    words = container["args"]
    check_words(words, "deployment.yaml")
    must_equal(container["ports"], [{"name": "http", "containerPort": make_image.PORT}], "the ports of the pod")
    rights = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    must_equal(container["securityContext"], rights, "the rights of the container")
    must_equal([(one["name"], one["mountPath"]) for one in container["volumeMounts"]],
               [(pod["volumes"][0]["name"], make_image.PROJECT)], "the place of the project")
    for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        must_equal(container[probe]["httpGet"]["path"], path, probe)
        check_endpoint(path)
    must(stop_seconds(words) < pod["terminationGracePeriodSeconds"], "the pod is killed before its grace is over")
    ready = container["readinessProbe"]
    noticed = ready["periodSeconds"] * ready["failureThreshold"] + ready["timeoutSeconds"]
    must(int(option(words, "--announce-ms")) / 1000 > noticed, "the pod closes its port before its readiness is asked for")
    must_equal(option(words, "--loops"), container["resources"]["requests"]["cpu"], "the CPUs that are asked for")


def check_cluster(objects):
    deployment = objects["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    pod = deployment["template"]["spec"]
    check_pod(pod)
    notes = deployment["template"]["metadata"]["annotations"]
    must_equal(notes["prometheus.io/port"], str(make_image.PORT), "the port of metrics")
    check_endpoint(notes["prometheus.io/path"])
    selectors = [deployment["selector"]["matchLabels"], objects["Service"]["spec"]["selector"],
                 objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                 *(one["labelSelector"]["matchLabels"] for one in pod["topologySpreadConstraints"])]
    for selector in selectors:
        must_equal(selector, labels, "the labels that are selected")
    port = objects["Service"]["spec"]["ports"][0]["targetPort"]
    must_equal(port, pod["containers"][0]["ports"][0]["name"], "the port of the service")
    scaler = objects["HorizontalPodAutoscaler"]["spec"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": objects["Deployment"]["metadata"]["name"]}
    must_equal(scaler["scaleTargetRef"], target, "what is scaled")
    disruption = objects["PodDisruptionBudget"]["spec"]["maxUnavailable"]
    must(scaler["minReplicas"] > disruption, "a node that is emptied may take all replicas")
    must_equal(deployment["strategy"]["rollingUpdate"], {"maxSurge": 1, "maxUnavailable": 0}, "the way of a change")
    source = pod["volumes"][0]["configMap"]
    must_equal(source["name"], objects["ConfigMap"]["metadata"]["name"], "the ConfigMap of the pod")
    data = objects["ConfigMap"]["data"]
    must_equal(sorted(one["key"] for one in source["items"]), sorted(data), "the files of the project")
    for item in source["items"]:
        text = (SOURCES / "examples/rerank" / item["path"]).read_text(encoding="utf-8")
        must_equal(data[item["key"]], text, f"project.yaml and examples/rerank/{item['path']}")


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


def check_compose(compose):
    check_form(compose, COMPOSE, "compose.yml")
    for name, service in compose["services"].items():
        must_equal(service["image"], IMAGE, f"the image of {name}")
        must_equal(service["user"], make_image.HOW["User"], f"the user of {name}")
        must_equal((service["cap_drop"], service["read_only"]), (["ALL"], True), f"the rights of {name}")
        volume, place = service["volumes"][0].split(":")[:2]
        must(volume in compose["volumes"], f"{name}: there is no volume {volume}")
        must_equal(place, make_image.PROJECT, f"the place of the project of {name}")
    rankd = compose["services"]["rankd"]
    check_words(rankd["command"], "compose.yml")
    must(stop_seconds(rankd["command"]) < seconds(rankd["stop_grace_period"]), "compose kills before the grace is over")
    check, own = rankd["healthcheck"], make_image.HOW["Healthcheck"]
    must_equal(check["test"], own["Test"], "the health check")
    must_equal([seconds(check[key]) * make_image.SECOND for key in ("interval", "timeout", "start_period")],
               [own[key] for key in ("Interval", "Timeout", "StartPeriod")], "the times of the health check")
    check_endpoint(own["Test"][-1])
    host, first, last, port = re.fullmatch(r"([\d.]+):(\d+)-(\d+):(\d+)", rankd["ports"][0]).groups()
    must_equal(int(port), make_image.PORT, "the port of compose")
    outside = [f"{host}:{one}" for one in range(int(first), int(last) + 1)]
    must_equal(len(outside), rankd["deploy"]["replicas"], "ports and replicas")
    balanced = re.findall(r"^  server \w+ (\S+)", (SOURCES / "packaging/haproxy.cfg").read_text(encoding="utf-8"), re.MULTILINE)
    must_equal(outside, balanced, "the ports of compose and packaging/haproxy.cfg")


def lay_out(objects, folder):
    """The files of the ConfigMap as a kubelet puts them into a pod: links to a folder with the time in its name."""
    version = folder / "..2026_01_01_00_00_00.1"
    data = objects["ConfigMap"]["data"]
    for item in objects["Deployment"]["spec"]["template"]["spec"]["volumes"][0]["configMap"]["items"]:
        (version / item["path"]).parent.mkdir(parents=True, exist_ok=True)
        (version / item["path"]).write_text(data[item["key"]], encoding="utf-8")
    (folder / "..data").symlink_to(version.name)
    for path in list(version.iterdir()):
        (folder / path.name).symlink_to(f"..data/{path.name}")


def check_program(rankd, objects, compose):
    """The options are those of rankd, and the project is right."""
    shown = subprocess.run([rankd, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"^  (--[\w-]+)", shown, re.MULTILINE))
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    words = [*pod["containers"][0]["args"], *compose["services"]["rankd"]["command"]]
    unknown = sorted({word for word in words if word.startswith("--")} - known)
    must(not unknown, f"rankd serve has no {unknown}")
    with tempfile.TemporaryDirectory() as folder:
        lay_out(objects, Path(folder))
        checked = subprocess.run([rankd, "validate", "--project", folder], capture_output=True, text=True, check=False)
        must(checked.returncode == 0, f"the project of project.yaml is wrong:\n{checked.stdout}{checked.stderr}")


def main(rankd=None):
    objects, compose = read_cluster(), read(SOURCES / "packaging/compose.yml")
    check_cluster(objects)
    check_compose(compose)
    if rankd:
        check_program(rankd, objects, compose)
    left = "" if rankd else "; options were not compared"
    print(f"{len(objects)} objects and {len(compose['services'])} services agree{left}")


if __name__ == "__main__":
    main(*sys.argv[1:])
