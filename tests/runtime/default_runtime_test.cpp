// tests/runtime/default_runtime_test.cpp: one runtime for all, made when it is wanted, and ended with the process.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <thread>

using namespace braid;

namespace {

auto doubled(executor& where, int value) -> task<int> {
  auto hop = offload(where, [value] { return 2 * value; });
  co_return co_await hop;
}

/// Ends after the tests, and so after the runtime has ended where that was made later.
struct last_look {
  ~last_look() {
    if (used && thread_info::find("braid-loop")) std::_Exit(3);
  }
  bool used = false;
};

last_look at_the_end;

}  // namespace

TEST_CASE("all threads get one runtime, which computes and waits") {
  CHECK_FALSE(thread_info::find("braid-loop"));  // nobody has wanted it yet
  runtime* other = nullptr;
  std::thread asking([&other] { other = &default_runtime(); });
  runtime& mine = default_runtime();
  asking.join();
  CHECK(other == &mine);
  CHECK(mine.run(doubled(mine.workers(), 21)) == 42);
  auto own_name = []() -> task<std::string> { co_return (co_await this_task())->name; };
  CHECK(spawn({.name = "one"}, own_name()).get() == "one");
  CHECK(spawn({.name = "two"}, own_name).get() == "two");
  CHECK(spawn(mine, {.name = "three"}, own_name).get() == "three");
  CHECK(thread_info::find("braid-loop"));
  at_the_end.used = true;
}
