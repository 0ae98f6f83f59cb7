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
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((copy.code, copy.diagnostics, str(copy)), (error.code, error.diagnostics, str(error)))

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
            for call in (lambda: ranker.rank(user_id=1), lambda: ranker.rank_many([{"user_id": 1}]), lambda: rankd.Ranker(sys.argv[1])):
                try:
                    call()
                    os.write(1, b"answered\\n")
                except rankd.RankdError as error:
                    os.write(1, error.code.encode() + b"\\n")
            if child:
                os.waitpid(child, 0)
            """, self.demo)
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(sorted(said.split()), ["answered"] * 3 + ["forked"] * 3)

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
        status, said, errors = in_process(
            """
            import os, signal, sys, threading, rankd
            ranker = rankd.Ranker(sys.argv[1], "slow", threads=1)
            def requests():
                for _ in range(64):
                    yield "{}"
                # From another thread, while the batch waits for its first answer.
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                ranker.rank_many(requests())
            except KeyboardInterrupt:
                print("interrupted")
            """, slow)
        self.assertEqual((status, said), (0, "interrupted\n"), errors)

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
