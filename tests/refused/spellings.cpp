// tests/refused/spellings.cpp: what does not compile, each with words of its first error.
#include <braid/braid.hpp>

namespace {

using namespace braid;

auto number() -> task<int> { co_return 1; }

// says: co_await std::move(work)
auto named() -> task<void> {
  auto one = number();
  co_await one;
}

// says: co_await std::move(future)
auto future_by_name(future<int> ahead) -> task<void> { co_await ahead; }

// says: store the future in a variable
auto shared_at_once(future<int> ahead) -> task<void> { co_await std::move(ahead).share(); }

// says: co_await std::move(future)
auto timed(future<long> ahead) -> task<void> { co_await with_timeout(std::chrono::seconds(1), ahead); }

// says: braid::spawn(scope, task) returns a future of it
void dropped(scope& in) { in.spawn(number()); }

// says: the continuation returns a task, which would never begin
void continued(future<int> ahead) {
  std::move(ahead).then([](int) { return number(); }).detach();
}

// clang says: a task cannot be copied: use std::move(work)
void by_name(pool& workers) {
  auto one = number();
  spawn(workers, one).detach();
}

// clang says: a task cannot be copied: use std::move(work)
auto all_by_name() -> task<void> {
  auto one = number();
  co_await when_all(one, number());
}

auto saved() -> task<result<void>> { co_return result<void>(); }

// clang says: ignoring return value
auto unseen() -> task<void> {
  static_cast<void>(co_await saved());
  co_await saved();
}

}  // namespace
