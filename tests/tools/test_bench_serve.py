# tests/tools/test_bench_serve.py: what bench/bench_serve makes of the metrics that it gets.
import unittest

from tree import TOOLS, load

METRICS = """# HELP rankd_shed_total Requests that were refused.
# TYPE rankd_shed_total counter
rankd_shed_total 7
rankd_http_request_duration_seconds_bucket{endpoint="/v1/rank",le="0.0001"} 10
rankd_http_request_duration_seconds_bucket{endpoint="/v1/rank",le="0.001"} 30
rankd_http_request_duration_seconds_bucket{endpoint="/v1/rank",le="+Inf"} 31
rankd_http_request_duration_seconds_bucket{endpoint="/healthz",le="0.0001"} 1000
"""


def a_round(share=0.9, refused=100, failed=0, unsent=0):
    overload = {"good_rps": 1000 * share, "good": 900, "refused": refused, "refused_without_retry_after": 0, "failed": failed,
                "unsent": unsent, "requests": 1000, "server_cpu_s": 0.1, "server_refusal_ms": 0.1, "late_p99_us": 20.0,
                "good_p99_us": 50_000.0, "refused_p50_us": 100.0, "refused_p99_us": 900.0, "refusal_p50_us": 90.0,
                "refusal_p99_us": 800.0}
    peak = {"good_rps": 1000.0, "failed": 0, "server_cpu_us": 100.0, "server_busy": 0.99}
    return {"peak": peak, "calm": {"good_p99_us": 2000.0, "refused": 0, "failed": 0}, "overload": overload, "share": share,
            "refusal_cpu_us": 5.0}


class ServeFigures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = load("bench_serve", TOOLS.parent / "bench")

    def rows(self, all_rounds, idle=None):
        found = self.tool.summary(all_rounds, [], 60.0, idle or {}, 5)
        found.update(others_share=0.0, host_share=0.0)
        return {name.strip(): value for name, value in self.tool.table(found)}

    def test_the_fastest_so_many_answers_are_bounded_by_a_class(self):
        before, after = {}, self.tool.results_of(METRICS)
        self.assertEqual(after["rankd_shed_total"], 7)
        self.assertEqual(self.tool.bound_on_fastest(before, after, 10), 0.0001)
        self.assertEqual(self.tool.bound_on_fastest(before, after, 11), 0.001)
        self.assertIsNone(self.tool.bound_on_fastest(after, after, 1))

    def test_a_refusal_costs_what_good_answers_leave(self):
        one = a_round()
        self.assertAlmostEqual(self.tool.refusal_cpu_us(one["overload"], one["peak"]), 100.0)
        one["overload"]["refused"] = 0
        self.assertIsNone(self.tool.refusal_cpu_us(one["overload"], one["peak"]))

    def test_a_figure_that_is_missed_is_called_so(self):
        rows = self.rows([a_round(0.7), a_round(0.79), a_round(0.9)])
        self.assertEqual(rows["their share of the peak, wanted 80%"], "79.0 % (70.0 to 90.0)  MISSED")
        self.assertIn("reached", rows["p99, wanted 1 ms"])
        self.assertIn("reached", self.rows([a_round(0.8)])["their share of the peak, wanted 80%"])

    def test_without_refusals_there_is_nothing_to_say_of_them(self):
        calm = a_round(1.0, refused=0)
        calm["overload"]["server_refusal_ms"] = calm["refusal_cpu_us"] = None
        rows = self.rows([calm], {"plain": {"1000": 2**20}})
        self.assertEqual(rows["the server's processor time"], "none")
        self.assertEqual(rows["memory of 1000 idle connections, plain, of 1,000"], "1.00 MiB")

    def test_failures_of_all_loads_are_added_up(self):
        found = self.tool.summary([a_round(failed=2), a_round(failed=3)], [], 60.0, {}, 5)
        self.assertEqual(found["failed"], 5)
