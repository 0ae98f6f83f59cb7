# tests/tools/test_check_edges.py: every rule of tools/check_edges, broken and kept.
import unittest

from tree import ToolCase

PATH = "include/braid/sync/ring.hpp"
OTHER_END = "void other() { x.store(1, release); }  // edge ring.item: publish the item\n"


class CheckEdges(ToolCase):
    tool = "check_edges"

    def body(self, *lines, path=PATH, other=OTHER_END):
        return {path: "#include <braid/sync/atomic.hpp>\n" + "\n".join(lines) + "\n" + other}

    def test_both_ends_on_their_lines(self):
        self.accepts(self.body("auto v = x.load(acquire);  // edge ring.item: observe the item"))

    def test_the_comment_may_stand_directly_above(self):
        self.accepts(self.body("// Why it is so.", "// edge ring.item: observe the item", "// And more.",
                               "auto v = x.load(acquire);"))

    def test_the_comment_may_stand_above_the_statement(self):
        self.accepts(self.body("// edge ring.item: observe the item", "const auto value =", "    x.load(acquire);"))

    def test_the_comment_may_stand_on_any_line_of_the_call(self):
        self.accepts(self.body("while (!x.compare_exchange_weak(old, next, acq_rel,  // edge ring.item: both the item",
                               "                                acquire)) {}", other=""))

    def test_an_ordered_operation_without_edge_is_refused(self):
        for order in ("acquire", "braid::acquire", "std::memory_order_acquire", "std::memory_order::acquire",
                      "seq_cst"):
            with self.subTest(order):
                self.refuses({PATH: f"#include <braid/sync/atomic.hpp>\n\nauto v = x.load({order});\n"},
                             f"{PATH}:3: `load` with {order.split(':')[-1].split('order_')[-1]} names no fitting edge")

    def test_a_comment_across_a_gap_does_not_count(self):
        self.refuses(self.body("// edge ring.item: observe the item", "", "auto v = x.load(acquire);"),
                     f"{PATH}:4: names no fitting edge", f"{PATH}:2: no operation here", f"{PATH}:5: `observe`")

    def test_braces_among_the_arguments_do_not_hide_the_order(self):
        self.refuses(self.body("x.store({f[1]}, release);", other=""),
                     f"{PATH}:2: `store` with release names no fitting edge")

    def test_the_comment_of_another_line_does_not_count(self):
        self.refuses(self.body("auto v = x.load(acquire);  // edge ring.item: observe the item", "auto w = x.load(acquire);"),
                     f"{PATH}:3: names no fitting edge")

    def test_an_edge_without_a_reason_is_refused(self):
        for comment in ("// edge ring.item: observe", "// edge ring.item: observe, items", "// edge ring.item: observe;"):
            with self.subTest(comment):
                self.refuses(self.body(f"x.load(acquire);  {comment}"), f"{PATH}:2: edge ring.item: no reason after `observe`")
        self.refuses(self.body("// edge ring.item: observe; edge ring.item: publish the slot", "x.exchange(1, acq_rel);"),
                     f"{PATH}:2: edge ring.item: no reason after `observe`")

    def test_a_reason_may_go_on_in_the_next_line(self):
        self.accepts(self.body("x.load(acquire);  // edge ring.item: observe", "                  // what is in the slot"))

    def test_the_next_edge_is_no_reason(self):
        self.refuses(self.body("// edge ring.item: observe", "// edge ring.item: publish the slot", "x.exchange(1, acq_rel);"),
                     f"{PATH}:2: edge ring.item: no reason after `observe`")

    def test_relaxed_needs_no_edge(self):
        self.accepts(self.body("auto v = x.load(relaxed);", other=""))

    def test_methods_of_that_name_are_no_orders(self):
        self.accepts(self.body("auto p = owner.release();", "lock.acquire(1, 2);", "auto release() -> int;",
                               "call(&thing::release);", "bool f(flag acquire);", "enum e { acquire, release };",
                               "if (release) a(); while (acquire) b(); switch (release) {} return (acquire);",
                               "auto o = (acquire);", "int a = b, release;", other=""))

    def test_functions_that_are_no_members_are_no_atomics(self):
        self.accepts(self.body("auto plan = load(); store(plan);", other=""))

    def test_code_that_does_not_fit_together_is_survived(self):
        self.accepts(self.body("} ) ] ; x.load(", other=""))

    def test_a_helper_that_takes_an_order_is_an_operation(self):
        self.refuses(self.body("publish_all(release);", other=""), f"{PATH}:2: `publish_all` with release")

    def test_bare_words_outside_files_about_atomics_mean_anything(self):
        self.accepts({PATH: "call(release); owner.pass(release); load(release);\n"})

    def test_a_load_on_a_foreign_atomic_counts_without_the_include(self):
        self.refuses({PATH: "auto v = cell.state.load(acquire);\n"}, f"{PATH}:1: names no fitting edge")

    def test_both_counts_as_both(self):
        self.accepts(self.body("x.exchange(1, acq_rel);  // edge ring.item: both the item", other=""))

    def test_both_needs_an_order_that_does_both(self):
        self.refuses(self.body("x.exchange(1, release);  // edge ring.item: both the item", other=""),
                     f"{PATH}:2: names no fitting edge", f"{PATH}:2: can publish and observe")
        self.refuses(self.body("x.load(acquire);  // edge ring.item: both the item", other=""),
                     f"{PATH}:2: names no fitting edge", f"{PATH}:2: can publish and observe")
        self.accepts(self.body("x.exchange(1, seq_cst);  // edge ring.item: both the item", other=""))

    def test_a_strong_operation_may_do_one_thing_only(self):
        for order in ("acq_rel", "seq_cst"):
            self.accepts(self.body(f"x.exchange(1, {order});  // edge ring.item: publish the item",
                                   f"x.exchange(1, {order});  // edge ring.item: observe the item", other=""))

    def test_publish_needs_a_releasing_order(self):
        self.refuses(self.body("x.load(acquire);  // edge ring.item: publish the item", other=""),
                     f"{PATH}:2: names no fitting edge",
                     f"{PATH}:2: edge ring.item: no operation here has an order that can publish")

    def test_observe_needs_an_acquiring_order(self):
        self.refuses(self.body("x.store(1, release);  // edge ring.item: observe the item", other=""),
                     f"{PATH}:2: names no fitting edge",
                     f"{PATH}:2: edge ring.item: no operation here has an order that can observe")

    def test_one_operation_may_name_two_edges(self):
        self.accepts(self.body("x.exchange(1, acq_rel);  // edge ring.item: observe the item; edge ring.taken: both the item"))

    def test_two_operations_may_share_a_line(self):
        self.accepts(self.body("y.store(x.load(acquire), release);  // edge ring.item: observe the item; edge ring.b: publish the item",
                               "y.load(acquire);  // edge ring.b: observe the item"))

    def test_an_edge_with_one_end_is_refused(self):
        self.refuses(self.body("// nothing"), f"{PATH}:3: edge ring.item has no end that says `observe`")
        self.refuses(self.body("x.load(acquire);  // edge ring.item: observe the item", other=""),
                     f"{PATH}:2: edge ring.item has no end that says `publish`")

    def test_ends_may_lie_in_different_files(self):
        self.accepts({"src/sync/a.cpp": "x.store(1, release);  // edge a.b: publish the item\n",
                      "rankd/op/b.cpp": "x.load(acquire);  // edge a.b: observe the item\n"})

    def test_tests_are_not_looked_at(self):
        self.accepts({"tests/sync/a_test.cpp": "std::atomic<int> x; x.load(); x.store(1, std::memory_order_release);\n"})

    def test_an_order_that_was_weakened_leaves_a_diagnostic(self):
        self.refuses(self.body("x.load(relaxed);  // edge ring.item: observe the item"),
                     f"{PATH}:2: edge ring.item: no operation here", f"{PATH}:3: `observe`")

    def test_fences_are_refused_anywhere(self):
        for path in (PATH, "tests/sync/a_test.cpp", "bench/fork/tbb.cpp"):
            with self.subTest(path):
                self.refuses({path: "\nstd::atomic_thread_fence(std::memory_order_seq_cst);\n"},
                             *[f"{path}:2: stand-alone fences"] + [f"{path}:2: names no fitting edge"] * (path == PATH))
                (self.root / path).unlink()
        self.accepts({PATH: "// no atomic_thread_fence here\n"})

    def test_an_order_left_to_the_default_is_refused(self):
        for call in ("load()", "store(1)", "exchange(f(2))", "fetch_add(1)", "fetch_or(1)", "test_and_set()",
                     "compare_exchange_weak(a, b)", "compare_exchange_strong(a, b)"):
            with self.subTest(call):
                name = call.split("(")[0]
                self.refuses(self.body(f"x.{call};", other=""), f"{PATH}:2: `{name}` names no memory order")
                self.refuses(self.body(f"p->{call};", other=""), f"{PATH}:2: `{name}` names no memory order")

    def test_a_named_or_passed_order_is_explicit(self):
        self.accepts(self.body("x.store(1, relaxed);", "x.fetch_add(1, std::memory_order_relaxed);", "x.load(order);",
                               "x.store(value, order);", "x.compare_exchange_weak(a, b, success, failure);", other=""))

    def test_without_atomics_load_and_store_mean_anything(self):
        self.accepts({"rankd/plan/a.cpp": "plan.load(); store.store(1);\n"})

    def test_std_atomic_is_refused_outside_its_home(self):
        for use in ("std::atomic<int> x;", "std::atomic_ref r{x};", "std::atomic_flag f;", "__atomic_load_n(&x, 0);",
                    "__sync_fetch_and_add(&x, 1);"):
            for path in (PATH, "src/sync/a.cpp", "rankd/op/a.cpp"):
                with self.subTest(use=use, path=path):
                    self.refuses({path: use + "\n"}, f"{path}:1: is used directly")
                    (self.root / path).unlink()
        self.accepts({"include/braid/sync/atomic.hpp": "using std::atomic; template <class T> using a = std::atomic<T>;\n",
                      "include/braid/sync/detail/model_atomic.hpp": "std::atomic<int> value_;\n",
                      "src/sync/a.cpp": "// unlike std::atomic\nbraid::atomic<int> x;\n"})


if __name__ == "__main__":
    unittest.main()
