"""python/tests/test_ranker.py: a Ranker answers, refuses what is wrong with a sentence, and can be stopped."""
import gc
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import unittest

from support import PATIENCE_S, ProjectTest, rankd, skip_without

skip_without("rankd")

from rankd import RankdError, Ranker  # noqa: E402

PLAN = "home_feed"


def in_process(code, *words):
    """Runs Python code in a process of its own: its exit status, what it printed, and its errors."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, words)], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


class Answers(ProjectTest):
    def test_a_request_is_a_text_a_mapping_or_arguments(self):
        with Ranker(self.demo, PLAN) as ranker:
            for request in ('{"user_id":42}', b'{"user_id":42}', {"user_id": 42}):
                self.assertEqual(ranker.rank(request).json, ranker.rank(user_id=42).json)
            expected = rankd("rank", "--project", self.demo, "--plan", PLAN, "--request", '{"user_id":42}').decode()
            self.assertEqual(ranker.rank(user_id=42).json + "\n", expected)
            self.assertRaises(TypeError, ranker.rank, 42)
            self.assertRaises(TypeError, ranker.rank, {"user_id": 1}, user_id=1)

    def test_a_ranking_is_a_mapping(self):
        with Ranker(self.demo, PLAN) as ranker:
            ranking = ranker.rank(user_id=42)
            self.assertEqual(dict(ranking), json.loads(ranking.json))
            self.assertEqual(ranking["plan"], PLAN)
            self.assertIn("candidates", ranking)
            self.assertEqual(ranking.ids, [each["id"] for each in ranking["candidates"]])
            self.assertEqual(ranking.num_rows, len(ranking.ids))
            self.assertIsNone(ranking.get("next_cursor"))

    def test_a_ranking_outlives_its_ranker(self):
        ranker = Ranker(self.demo, PLAN)
        ranking = ranker.rank(user_id=42)
        before = ranking.json
        ranker.close()
        del ranker
        self.assertEqual(ranking.json, before)

    def test_many_requests_are_answered_in_their_order(self):
        lines = ['{"user_id":1}', "nonsense", '{"user_id":-1}', '{"user_id":2}'] * 20
        expected = rankd("batch", "--project", self.demo, "--plan", PLAN, given="\n".join(lines).encode(), check=False)
        with Ranker(self.demo, PLAN) as ranker:
            for requests in (lines, iter(lines), (each.encode() for each in lines)):
                answers = ranker.rank_many(requests)
                self.assertEqual("".join(line + "\n" for line in answers.lines()).encode(), expected)
            self.assertEqual(len(answers), 80)
            self.assertEqual([answers.code(at) for at in range(4)], ["ok", "json_syntax", "bad_user_id", "ok"])
            self.assertEqual(answers[1]["error"]["code"], "json_syntax")
            self.assertEqual(answers[-1], answers[79])
            self.assertEqual(answers[:2], [answers[0], answers[1]])
            self.assertRaises(IndexError, answers.line, 80)
            self.assertEqual(len(ranker.rank_many([])), 0)
            self.assertRaises(TypeError, ranker.rank_many, '{"user_id":1}')
            self.assertRaises(TypeError, ranker.rank_many, [42])

    def test_an_exception_of_the_iterator_is_raised(self):
        def requests():
            yield {"user_id": 1}
            raise KeyError("mine")

        with Ranker(self.demo, PLAN) as ranker:
            self.assertRaisesRegex(KeyError, "mine", ranker.rank_many, requests())
            self.assertEqual(len(ranker.rank_many([{"user_id": 1}])), 1)

    def test_threads_share_a_ranker(self):
        with Ranker(self.demo, PLAN) as ranker:
            expected = ranker.rank(user_id=7).json
            got = []
            threads = [threading.Thread(target=lambda: got.extend(ranker.rank(user_id=7).json for _ in range(50))) for _ in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            self.assertEqual(got, [expected] * 200)

    def test_two_rankers_of_one_project(self):
        with Ranker(self.demo, PLAN) as first, Ranker(self.demo, PLAN) as second:
            self.assertEqual(first.rank(user_id=7).json, second.rank(user_id=7).json)
            second.close()
            self.assertEqual(first.rank(user_id=7)["plan"], PLAN)

    def test_plans_validation_explanations_and_reload(self):
        with Ranker(self.demo) as ranker:
            self.assertIn(PLAN, [each["plan"] for each in ranker.plans()])
            self.assertEqual([each["valid"] for each in ranker.validate(PLAN)], [True])
            self.assertEqual([each["valid"] for each in ranker.validate("nothing")], [False])
            explained = ranker.explain(plan=PLAN, user_id=42, ids=[1, 2])["explain"]
            self.assertEqual([each["id"] for each in explained["ids"]], [1, 2])
            self.refused("bad_id", ranker.explain, plan=PLAN, user_id=42, ids=["x"])
            ranker.reload()
            self.assertEqual(ranker.rank(plan=PLAN, user_id=42)["plan"], PLAN)
            self.assertEqual(os.path.realpath(ranker.project), os.path.realpath(self.demo))


class WrongInput(ProjectTest):
    def test_projects_and_plans(self):
        self.refused("unreadable_file", Ranker, self.scratch / "nowhere")
        error = self.refused("unknown_plan", Ranker, self.demo, "home_fed")
        self.assertIn("home_feed", error.hint)
        self.refused("unknown_environment", Ranker, self.demo, environment="staging")
        self.refused("store_missing", Ranker, self.demo, PLAN, store=self.scratch / "empty")
        self.assertRaises(ValueError, Ranker, self.demo, threads=0)
        self.assertRaises(TypeError, Ranker, 42)
        broken = self.scratch / "broken"
        shutil.copytree(self.demo, broken)
        (broken / "plans/home_feed.json").write_text('{"schema_version": 1}', encoding="utf-8")
        error = self.refused("missing_field", Ranker, broken, PLAN)
        self.assertGreater(len(error.diagnostics), 1)
        self.assertTrue(error.source.endswith("home_feed.json"))

    def test_requests(self):
        with Ranker(self.demo, PLAN) as ranker:
            self.assertEqual(self.refused("json_syntax", ranker.rank, "{").pointer, "")
            error = self.refused("bad_user_id", ranker.rank, user_id=-1, request_id="mine")
            self.assertEqual((error.pointer, error.request_id), ("/user_id", "mine"))
            self.assertIn("[bad_user_id]", str(error))
            self.refused("unknown_field", ranker.rank, user_id=1, nonsense=2)
            self.refused("invalid_utf8", ranker.rank, b"\xff")
            self.refused("plan_mismatch", ranker.rank, plan="other", user_id=1)
            for text in ("", " ", "null", "[1]", "1", "[" * 100_000, '{"user_id":1} x', '{"user_id":1}\0'):
                self.assertRaises(RankdError, ranker.rank, text)
            for user in (2**63, -2**63, 1.5, float("nan"), True, None, "x", [], {}):
                self.assertEqual(self.refused("bad_user_id", ranker.rank, user_id=user).pointer, "/user_id")
            for user in (-2**63 - 1, 10**400):
                self.assertEqual(self.refused("number_out_of_range", ranker.rank, user_id=user).pointer, "/user_id")
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((copy.code, copy.diagnostics, str(copy)), (error.code, error.diagnostics, str(error)))

    def test_a_surrogate_is_no_text(self):
        with Ranker(self.demo, PLAN) as ranker:
            for request in ('{"user_id":1,"request_id":"\ud800"}', {"user_id": 1, "request_id": "\udfff"}, {"user_id": 1, "\ud800": 1}):
                self.refused("invalid_utf8", ranker.rank, request)
            answers = ranker.rank_many([{"user_id": 1}, {"user_id": 1, "request_id": "\ud800"}, "\ud800"])
            self.assertEqual([answers.code(at) for at in range(3)], ["ok", "invalid_utf8", "invalid_utf8"])
            self.refused("bad_id", ranker.explain, user_id=1, ids=["\ud800"])
            self.assertEqual([each["valid"] for each in ranker.validate("\ud800")], [False])
        self.assertIn("\\ud800", self.refused("unknown_plan", Ranker, self.demo, "\ud800").message)
        # File names may have any bytes.
        self.assertIn("\\xff", self.refused("unreadable_file", Ranker, self.scratch / "\udcff").source)
        self.refused("unreadable_file", Ranker, bytes(self.scratch) + b"/\xff")

    def test_values_that_json_does_not_have(self):
        circular, deep = {"user_id": 1}, {}
        circular["a/b"] = circular
        for _ in range(100_000):
            deep = {"user_id": deep}
        with Ranker(self.demo, PLAN) as ranker:
            for request, pointer in (({"user_id": {1}}, "/user_id"), ({"user_id": 1, "x": object()}, "/x"), ({("x",): 1}, "/('x',)"),
                                     ({"user_id": 10**5000}, "/user_id"), (circular, "/a~1b"), (deep, "/user_id")):
                error = self.refused("unsupported_type", ranker.rank, request)
                self.assertEqual(error.pointer, pointer)
                self.assertEqual(self.refused("unsupported_type", ranker.explain, request).pointer, pointer)
                answers = ranker.rank_many([{"user_id": 1}, request, {"user_id": 2}])
                self.assertEqual([answers.code(at) for at in range(3)], ["ok", "unsupported_type", "ok"])
                self.assertEqual(answers[1]["error"], {"code": error.code, "message": f"{error.message}; {error.hint}",
                                                       "pointer": pointer, "request_id": "line_2"})
            self.assertIn("the type set has no form in JSON", self.refused("unsupported_type", ranker.rank, user_id={1}).message)
            self.assertEqual(self.refused("unsupported_type", ranker.rank, user_id={1}, request_id="mine").request_id, "mine")

    def test_arguments_of_wrong_types_are_named(self):
        def refused(sentence, call, *words, **named):
            with self.assertRaises((TypeError, ValueError)) as caught:
                call(*words, **named)
            self.assertEqual(str(caught.exception), sentence)

        refused("`plan` must be a str, got 42", Ranker, self.demo, 42)
        refused("`environment` must be a str, got 3", Ranker, self.demo, environment=3)
        for threads in ("2", 2.5, True, 0, 1025, -1, 2**80):
            refused(f"`threads` must be an integer from 1 to 1024, got {threads!r}", Ranker, self.demo, threads=threads)
        with Ranker(self.demo, PLAN) as ranker:
            refused("the request must be a mapping, str or bytes, got int", ranker.rank, 42)
            refused("request 2 must be a mapping, str or bytes, got NoneType", ranker.rank_many, [{"user_id": 1}, None])
            refused("`plan` must be a str, got 3", ranker.rank_many, [], plan=3)
            refused("`threads` must be an integer from 1 to 1024, got 0", ranker.rank_many, [], threads=0)
            refused("`ids` must be a list of ids, got '12'", ranker.explain, user_id=1, ids="12")
            refused("`plans` must be a str, got 3", ranker.validate, 3)
            for requests in (None, 5, "x", b"x", {"user_id": 1}, ranker.rank(user_id=1), ranker.rank_many([])):
                refused(f"rank_many answers a table or an iterable of requests, got {type(requests).__name__}; rank answers one request",
                        ranker.rank_many, requests)

    def test_a_closed_ranker(self):
        ranker = Ranker(self.demo, PLAN)
        self.assertFalse(ranker.closed)
        ranker.close()
        ranker.close()
        self.assertTrue(ranker.closed)
        for call in (ranker.rank, ranker.plans, ranker.validate, ranker.reload, lambda: ranker.rank_many([])):
            self.refused("closed", call)

    def test_what_cannot_be_pickled_says_so(self):
        with Ranker(self.demo, PLAN) as ranker:
            self.assertRaisesRegex(TypeError, "open one in each process", pickle.dumps, ranker)
            self.assertRaisesRegex(TypeError, "json", pickle.dumps, ranker.rank(user_id=1))


class Processes(ProjectTest):
    def test_a_fork_is_refused(self):
        status, said, errors = in_process(
            """
            import os, sys, rankd
            ranker = rankd.Ranker(sys.argv[1], "home_feed")
            ranker.rank(user_id=1)
            child = os.fork()
            for call in (lambda: ranker.rank(user_id=1), lambda: ranker.rank_many([{"user_id": 1}]), ranker.plans, ranker.validate,
                         ranker.reload, lambda: rankd.Ranker(sys.argv[1])):
                try:
                    call()
                    os.write(1, b"answered\\n")
                except rankd.RankdError as error:
                    os.write(1, error.code.encode() + b"\\n")
            if child:
                os.waitpid(child, 0)
            """, self.demo)
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(sorted(said.split()), ["answered"] * 6 + ["forked"] * 6)

    def test_a_spawned_process_opens_its_own(self):
        with Ranker(self.demo, PLAN) as ranker, multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.apply(_rank_elsewhere, (str(self.demo),)), ranker.rank(user_id=3).json)

    def test_an_interrupt_stops_many_requests(self):
        status, said, _ = in_process(
            """
            import itertools, os, signal, sys, rankd
            ranker = rankd.Ranker(sys.argv[1], "home_feed", threads=1)
            def requests():
                for number in itertools.count():
                    if number == 1000:
                        os.kill(os.getpid(), signal.SIGINT)
                    yield '{"user_id":1}'
            try:
                ranker.rank_many(requests())
            except KeyboardInterrupt:
                print("interrupted", len(ranker.rank_many([{"user_id": 1}])))
            """, self.demo)
        self.assertEqual((status, said), (0, "interrupted 1\n"))

    def test_an_interrupt_stops_requests_that_wait(self):
        slow = self.scratch / "slow"
        shutil.copytree(self.demo, slow)
        (slow / "plans/slow.json").write_text(json.dumps({
            "schema_version": 1, "plan_name": "slow", "outputs": ["b"], "nodes": [
                {"node_id": "a", "op": "test::fixed_source", "inputs": [], "params": {"row_count": 1}},
                {"node_id": "b", "op": "test::sleep", "inputs": ["a"], "params": {"duration_ms": 600000, "fail_after_sleep": False}}]}))
        (slow / "plans/index.json").unlink(missing_ok=True)
        for call in ('ranker.rank_many(["{}"] * 64)', 'ranker.rank("{}")', 'ranker.explain("{}")'):
            status, said, errors = in_process(
                f"""
                import os, signal, sys, threading, rankd
                ranker = rankd.Ranker(sys.argv[1], "slow", threads=1)
                try:
                    # From another thread, while the call waits for its answer.
                    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                    {call}
                except KeyboardInterrupt:
                    print("interrupted")
                """, slow)
            self.assertEqual((status, said), (0, "interrupted\n"), errors)

    def test_threads_that_rank_do_not_disturb_the_end_of_the_process(self):
        for call in ("ranker.rank(user_id=1)", "ranker.rank(user_id=-1)",
                     'ranker.rank_many({"user_id": 1 + number % 100} for number in range(100_000))'):
            status, said, errors = in_process(
                f"""
                import sys, threading, rankd
                ranker = rankd.Ranker(sys.argv[1], "home_feed", threads=2)
                begun = threading.Barrier(5)
                def rank():
                    begun.wait()
                    while True:
                        try:
                            {call}
                        except rankd.RankdError:
                            pass
                for _ in range(4):
                    threading.Thread(target=rank, daemon=True).start()
                begun.wait()
                ranker.rank_many({{"user_id": 1}} for _ in range(100))
                """, self.demo)
            self.assertEqual((status, said, errors), (0, "", ""))

    def test_memory_stays_flat(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        with Ranker(self.demo, PLAN, threads=1) as ranker:
            def call(times):
                for number in range(times):
                    ranking = ranker.rank(user_id=1 + number % 100)
                    ranking.__arrow_c_array__()
                    if number % 10 == 0:
                        try:
                            ranker.rank(user_id=-1)
                        except RankdError:
                            pass
                gc.collect()

            call(20_000)
            before = resident()
            call(80_000)
            self.assertLess(resident() - before, 8 << 20)


def _rank_elsewhere(project):
    with Ranker(project, PLAN) as ranker:
        return ranker.rank(user_id=3).json


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
