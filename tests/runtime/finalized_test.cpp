// tests/runtime/finalized_test.cpp: after `finalize` everything that would use the default pool is refused.
#include <braid/runtime/default_runtime.hpp>

#include <braid/graph/static_graph.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/parallel_algorithms.hpp>

#include <doctest/doctest.h>

#include <tests/support/failures.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <ranges>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace braid;

namespace {

int calls = 0;  // of bodies, which are refused

auto counted(int /*i*/) -> bool {
  ++calls;
  return true;
}
auto less(int left, int right) -> bool {
  ++calls;
  return left < right;
}
auto add(int left, int right) -> int {
  ++calls;
  return left + right;
}

struct algorithm {
  const char* name;
  std::function<void(std::vector<int>& in, std::vector<int>& out)> run;
};

using ints = std::vector<int>;

auto algorithms() -> std::vector<algorithm> {
  return {
      {"for", [](ints& in, ints&) { parallel_for(std::size_t{0}, in.size(), [](std::size_t) { ++calls; }); }},
      {"for_each", [](ints& in, ints&) { parallel_for_each(in, &counted); }},
      {"reduce", [](ints& in, ints&) { static_cast<void>(parallel_reduce(in, 0, &add)); }},
      {"inclusive_scan", [](ints& in, ints& out) { parallel_inclusive_scan(in, out.begin(), &add); }},
      {"exclusive_scan",
       [](ints& in, ints& out) { static_cast<void>(parallel_exclusive_scan(in, out.begin(), 0, &add)); }},
      {"sort", [](ints& in, ints&) { parallel_sort(in, &less); }},
      {"stable_sort", [](ints& in, ints&) { parallel_stable_sort(in, &less); }},
      {"transform", [](ints& in, ints& out) { parallel_transform(in, out.begin(), &counted); }},
      {"find_if", [](ints& in, ints&) { static_cast<void>(parallel_find_if(in, &counted)); }},
      {"any_of", [](ints& in, ints&) { static_cast<void>(parallel_any_of(in, &counted)); }},
      {"all_of", [](ints& in, ints&) { static_cast<void>(parallel_all_of(in, &counted)); }},
      {"none_of", [](ints& in, ints&) { static_cast<void>(parallel_none_of(in, &counted)); }},
      {"count_if", [](ints& in, ints&) { static_cast<void>(parallel_count_if(in, &counted)); }},
      {"min_element", [](ints& in, ints&) { static_cast<void>(parallel_min_element(in, &less)); }},
      {"max_element", [](ints& in, ints&) { static_cast<void>(parallel_max_element(in, &less)); }},
      {"copy_if", [](ints& in, ints& out) { parallel_copy_if(in, out.begin(), &counted); }},
      {"merge", [](ints& in, ints& out) { parallel_merge(in, ints{1}, out.begin(), &less); }},
      {"partition", [](ints& in, ints&) { static_cast<void>(parallel_partition(in, &counted)); }},
      {"unique", [](ints& in, ints&) { static_cast<void>(parallel_unique(in, &less)); }},
      {"nth_element", [](ints& in, ints&) { parallel_nth_element(in, in.begin() + 1, &less); }},
      {"fork_join", [](ints&, ints&) { static_cast<void>(fork_join([] { return ++calls; }, [] { return ++calls; })); }},
      {"task_group",
       [](ints&, ints&) {
         task_group group;
         group.run([] { ++calls; });
         or_throw(group.wait());
       }},
      {"static_graph",
       [](ints&, ints&) {
         graph_builder builder;
         static_cast<void>(builder.add([] { ++calls; }));
         auto graph = std::move(builder).build().value();
         graph.run();
       }},
  };
}

auto code_of(const algorithm& one, std::size_t count) -> std::error_code {
  ints in(count, 1);
  ints out(count + 1);
  try {
    one.run(in, out);
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
  return {};
}

void check_that_all_is_refused() {
  calls = 0;
  for (const std::size_t count : {std::size_t{2}, std::size_t{5000}})
    for (const algorithm& one : algorithms()) {
      CAPTURE(one.name);
      CAPTURE(count);
      CHECK(code_of(one, count) == errc::closed);
      CHECK(calls == 0);
    }
  CHECK(post([] { ++calls; }).error() == errc::closed);
  CHECK(testing::failure_code(spawn([] { return ++calls; })) == errc::closed);
  auto body = []() -> task<int> { co_return ++calls; };
  CHECK(testing::failure_code(spawn(body())) == errc::closed);
  CHECK(calls == 0);
}

}  // namespace

TEST_CASE("after finalize algorithms are refused as everything else is, whether there was a runtime or not") {
  REQUIRE(finalize().has_value());
  check_that_all_is_refused();
  REQUIRE(initialize({.workers = 1}).has_value());
  for (const algorithm& one : algorithms()) {
    CAPTURE(one.name);
    CHECK_FALSE(code_of(one, 2));
  }
  REQUIRE(finalize().has_value());
  check_that_all_is_refused();
}

TEST_CASE("a pool of the program's own runs algorithms after finalize, too") {
  REQUIRE(finalize().has_value());
  pool own({.workers = 1});
  for (const algorithm& one : algorithms()) {
    CAPTURE(one.name);
    CHECK_FALSE(run_in(own, [&one] { return code_of(one, 5000); }));
  }
}
