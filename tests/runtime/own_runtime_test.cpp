// tests/runtime/own_runtime_test.cpp: free functions use the runtime that the program has made by itself.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/parallel.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <tuple>

using namespace braid;
using namespace std::chrono_literals;

namespace {

auto name_of_thread() -> std::string { return this_thread::name(); }

auto starts_with_own(const std::string& name) -> bool { return name.starts_with("own-"); }

}  // namespace

TEST_CASE("free functions use the oldest runtime that lives, and the one of the process when none does") {
  {
    auto own = runtime::create({.workers = 2, .name = "own"}).value();
    auto later = runtime::create({.workers = 1, .name = "later"}).value();
    CHECK(starts_with_own(spawn([] { return name_of_thread(); }).get()));
    std::atomic<bool> elsewhere = false;
    const std::string caller = name_of_thread();  // which takes part
    parallel_for(std::size_t{0}, std::size_t{1000}, [&](std::size_t) {
      if (const std::string name = name_of_thread(); name != caller && !starts_with_own(name)) elsewhere = true;
    });
    CHECK_FALSE(elsewhere);
    const auto both = fork_join([] { return name_of_thread(); }, [] { return name_of_thread(); });
    CHECK(starts_with_own(std::get<0>(both)));
    CHECK(starts_with_own(std::get<1>(both)));
    auto at_home = spawn([text = std::string("a text that is too long for its object")]() -> task<std::string> {
      co_await sleep_for(1ms);
      co_return name_of_thread() + text.substr(0, 1);
    });
    CHECK(at_home.get() == "own-loopa");
    CHECK(spawn(*own, [] { return name_of_thread(); }).get().starts_with("own-"));
    CHECK(post(*own, [] {}).has_value());
    CHECK_FALSE(thread_info::find("braid-loop"));  // no second runtime has been started
    own.reset();
    CHECK(spawn([] { return name_of_thread(); }).get() == "later-0");
  }
  CHECK(spawn([] { return name_of_thread(); }).get().starts_with("braid-"));
  auto own = runtime::create({.workers = 1, .name = "own"}).value();
  CHECK(spawn([] { return name_of_thread(); }).get().starts_with("braid-"));  // that of the process was made
}

TEST_CASE("after finalize a task is refused in its future, as a function is") {
  CHECK(finalize().has_value());
  auto refused = spawn([]() -> task<int> { co_return 1; });
  CHECK_THROWS_AS(static_cast<void>(refused.get()), std::system_error);
  auto own = runtime::create({.workers = 1, .name = "own"}).value();
  CHECK(spawn(*own, [] { return name_of_thread(); }).get() == "own-0");
}
