# tests/tools/test_check_dsl.py: bindings and artifacts that are older than what they were made of are found.
import hashlib
import json
import unittest

from tree import ToolCase, load

KEYS = '[[key]]\nkey_id = 1\nname = "id"\ndefault = 0.0\n'
ENDPOINTS = '[[endpoint]]\nendpoint_id = "ep_0001"\nname = "r"\nkind = "redis"\npolicy = { connections = 1 }\n'
PLAN = "export default 1;\n"
BINDINGS = "dsl/packages/plan/src/generated.ts"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


DIGESTS = {
    "keys": sha('{"key":[{"default":0,"key_id":1,"name":"id"}]}'),
    "params": sha("{}"),
    "features": sha("{}"),
    "capabilities": sha("{}"),
    "endpoints": sha('{"endpoint":[{"endpoint_id":"ep_0001","kind":"redis","name":"r"}]}'),
}


ENTRIES = {"keys": {"1": sha('{"default":0,"key_id":1,"name":"id"}')},
           "endpoints": {"ep_0001": sha('{"endpoint_id":"ep_0001","kind":"redis","name":"r"}')}}


def artifact(source, text=PLAN, digests=None):
    return json.dumps({"source_files": [f"{source}#sha256={sha(text)}"], "registry_digests": digests or ENTRIES})


def good():
    """A tree without diagnostics."""
    plan = artifact("plans/a.plan.ts")
    digests = DIGESTS | {"ops": sha("[[op]]\n")}
    return {
        "registry/keys.toml": KEYS,
        "registry/endpoints.test.toml": ENDPOINTS,
        "registry/ops.toml": "[[op]]\n",
        BINDINGS: "".join(f"// digest {name} {digest}\n" for name, digest in digests.items()),
        "plans/a.plan.ts": PLAN,
        "plans/manifest.json": json.dumps({"plans": ["plans/a.plan.ts"]}),
        "plans/compiled/a.json": plan,
        "plans/compiled/index.json": json.dumps({"plans": [{"path": "a.json", "digest": sha(plan)}]}),
        "rankd/cli/demo/plans/b.plan.ts": PLAN,
        "rankd/cli/demo/plans/b.json": artifact("plans/b.plan.ts"),
    }


class CheckDsl(ToolCase):
    tool = "check_dsl"

    def test_what_belongs_together_is_accepted(self):
        self.accepts(good())

    def test_another_registry_is_found_everywhere(self):
        self.refuses(good() | {"registry/keys.toml": KEYS.replace("0.0", "0.5")},
                     f"{BINDINGS}:1: was made of another registry of keys",
                     "plans/compiled/a.json:1: was built against another entry 1 of keys",
                     "rankd/cli/demo/plans/b.json:1: was built against another entry 1 of keys")

    def test_other_entries_leave_artifacts_as_they_are(self):
        more = '[[key]]\nkey_id = 2\nname = "more"\n[[key]]\ndoc = "It."\n' + KEYS.removeprefix("[[key]]\n")
        self.refuses(good() | {"registry/keys.toml": more}, f"{BINDINGS}:1: was made of another registry of keys")

    def test_an_entry_that_went_is_found(self):
        self.refuses(good() | {"registry/endpoints.test.toml": ENDPOINTS.replace("ep_0001", "ep_0002")},
                     f"{BINDINGS}:1: was made of another registry of endpoints",
                     "plans/compiled/a.json:1: was built against another entry ep_0001 of endpoints",
                     "rankd/cli/demo/plans/b.json:1: was built against another entry ep_0001 of endpoints")

    def test_digests_of_whole_registries_are_compared(self):
        b = "rankd/cli/demo/plans/b.json"
        self.accepts(good() | {b: artifact("plans/b.plan.ts", digests=DIGESTS)})
        self.refuses(good() | {b: artifact("plans/b.plan.ts", digests=DIGESTS | {"params": "0"})},
                     f"{b}:1: was built against another registry of params")
        self.refuses(good() | {b: artifact("plans/b.plan.ts", digests={"params": DIGESTS["params"]})},
                     f"{b}:1: carries no digests of keys")

    def test_other_operators_are_found(self):
        self.refuses(good() | {"registry/ops.toml": "[[op]]\n[[op]]\n"}, f"{BINDINGS}:1: was made of another registry of ops")

    def test_a_comment_in_a_registry_changes_nothing(self):
        self.accepts(good() | {"registry/keys.toml": "# a comment\n" + KEYS})

    def test_a_changed_source_is_found(self):
        self.refuses(good() | {"plans/a.plan.ts": "export default 2;\n"}, "plans/compiled/a.json:1: is older than plans/a.plan.ts")
        self.refuses(good() | {"rankd/cli/demo/plans/b.plan.ts": "\n"},
                     "rankd/cli/demo/plans/b.json:1: is older than rankd/cli/demo/plans/b.plan.ts")

    def test_a_missing_artifact_is_found(self):
        self.refuses(good() | {"plans/manifest.json": json.dumps({"plans": ["plans/a.plan.ts", "plans/c.plan.ts"]})},
                     "plans/compiled/c.json:1: is missing")

    def test_an_artifact_that_was_changed_by_hand_is_found(self):
        changed = artifact("plans/a.plan.ts").replace("{", "{ ", 1)
        self.refuses(good() | {"plans/compiled/a.json": changed}, "plans/compiled/index.json:1: has another digest")

    def test_an_artifact_without_a_source_is_found(self):
        self.refuses(good() | {"plans/compiled/x.json": "{}"}, "plans/compiled/x.json:1: has no source",
                     "plans/compiled/index.json:1: has another digest of plans/compiled/x.json")

    def test_an_artifact_that_names_no_source_is_found(self):
        self.refuses(good() | {"plans/compiled/a.json": "{}"}, "plans/compiled/a.json:1: does not say that it was made",
                     "plans/compiled/index.json:1: has another digest")

    def test_a_plan_that_nobody_compiles_is_found(self):
        self.refuses(good() | {"plans/z.plan.ts": PLAN}, "plans/z.plan.ts:1: is not listed")

    def test_tests_of_plans_are_held_against_their_sources(self):
        made = {"plans/a.test.ts": PLAN, "plans/compiled/a.tests.json": artifact("plans/a.test.ts"),
                "rankd/cli/demo/plans/b.test.ts": PLAN, "rankd/cli/demo/plans/b.tests.json": artifact("plans/b.test.ts")}
        self.refuses(good() | {"plans/a.test.ts": PLAN}, "plans/compiled/a.tests.json:1: is missing")
        self.accepts(good() | made)
        self.refuses(good() | made | {"plans/a.test.ts": "\n", "rankd/cli/demo/plans/b.test.ts": "\n"},
                     "plans/compiled/a.tests.json:1: is older than plans/a.test.ts",
                     "rankd/cli/demo/plans/b.tests.json:1: is older than rankd/cli/demo/plans/b.test.ts")

    def test_floats_are_spelled_as_in_scripts(self):
        spelled = load("check_dsl").spelled
        for number, text in ((0.0, "0"), (0.5, "0.5"), (1e21, "1e+21"), (1e-7, "1e-7"), (1.5e300, "1.5e+300"), (100.0, "100"),
                             (1e-5, "0.00001"), (1.5e-6, "0.0000015"), (-1.5e-6, "-0.0000015"), (-0.0, "0"),
                             (1.2345678901234568e20, "123456789012345680000"), (123456.75, "123456.75")):
            self.assertEqual(spelled(number), text)


if __name__ == "__main__":
    unittest.main()
