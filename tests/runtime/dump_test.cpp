// tests/runtime/dump_test.cpp: the task dump of one runtime.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>

#include <tests/support/eventually.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

using namespace braid;
using testing::eventually;

namespace {

auto dozes() -> task<void> { co_await sleep_for(1h); }

auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a runtime shows the tasks of its loops and of its workers, and those of no other one") {
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto mine = runtime::create({.workers = 2, .name = "mine", .shape = shape}).value();
    const auto other = runtime::create({.workers = 1}).value();
    auto on_loop = spawn(*mine, {.name = "on a loop"}, dozes());
    auto on_pool = spawn(mine->workers(), {.name = "on a worker"}, dozes());
    auto elsewhere = spawn(*other, {.name = "elsewhere"}, dozes());
    std::string text;
    CHECK(eventually([&] {
      text = dump(*mine).to_text();
      return has(text, "\"on a loop\"") && has(text, "\"on a worker\"");
    }));
    CHECK(eventually([&] { return has(dump().to_text(), "\"elsewhere\""); }));
    CHECK_FALSE(has(dump(*mine).to_text(), "elsewhere"));
    CHECK(has(text, "loop on thread mine-"));
    CHECK(has(text, "dozes"));
    CHECK_FALSE(has(text, "no answer"));
  }
}

TEST_CASE("tasks are counted by what they wait for, without their names") {
  const auto mine = runtime::create({.workers = 1}).value();
  const auto sleepers = [] {
    for (const auto& [wait, tasks] : detail::count_waits(1s))
      if (wait == "sleep") return tasks;
    return std::size_t{0};
  };
  CHECK(sleepers() == 0);
  for (int i = 0; i < 3; ++i) CHECK(post(*mine, dozes()));
  CHECK(eventually([&] { return sleepers() == 3; }));
  const auto ahead = std::array{spawn(*mine, dozes()), spawn(*mine, dozes())};
  CHECK(eventually([&] { return sleepers() == 5; }));
  const auto all = detail::count_waits(1s);
  CHECK(std::ranges::find(all, "none of these", &std::pair<std::string, std::size_t>::first) == all.end());
}
