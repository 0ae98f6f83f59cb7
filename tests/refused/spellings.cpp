// tests/refused/spellings.cpp: what does not compile, in this order, each with words of its first error.
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

// says: keep that, and co_await it by its name
auto shared_at_once(future<int> ahead) -> task<void> { co_await std::move(ahead).share(); }

// says: co_await std::move(future)
auto timed(future<long> ahead) -> task<void> { co_await with_timeout(std::chrono::seconds(1), ahead); }

// says: braid::spawn(scope, task) gives a future of it
void dropped(scope& in) { in.spawn(number()); }

}  // namespace
