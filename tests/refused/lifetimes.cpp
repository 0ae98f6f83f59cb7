// tests/refused/lifetimes.cpp: arguments of coroutines that end before the coroutine, as clang reports them when it is
// asked to. What follows `fine` must compile.
// flags: -DBRAID_CHECK_LIFETIMES -Werror=dangling -Werror=return-stack-address
// compiler: clang
// errors: exactly
#include <braid/braid.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace braid;

auto length(const std::string& text) -> task<std::size_t> { co_return text.size(); }
auto letters(const std::string& text) -> generator<char> {
  for (const char letter : text) co_yield letter;
}
auto computed(const std::string& text) -> fork_task<std::size_t> { co_return text.size(); }

// clang-format off: a page shows these lines
// [found]
// says: temporary whose address is used as value of local variable 'work'
auto of_a_temporary() -> task<std::size_t> {
  auto work = length(std::string(1000, 'x'));
  co_return co_await std::move(work);
}

// says: temporary whose address is used as value of local variable 'work'
auto captures_of_a_temporary() -> task<std::size_t> {
  const std::string text(1000, 'x');
  auto work = [text]() -> task<std::size_t> { co_return text.size(); }();
  co_return co_await std::move(work);
}

// says: returning address of local temporary object
BRAID_COROUTINE_WRAPPER auto captures_of_what_returns(const std::string& text)
    -> task<std::size_t> {
  return [text]() -> task<std::size_t> { co_return text.size(); }();
}

// [/found]
// clang-format on

// says: temporary whose address is used as value of local variable 'all'
auto of_a_generator() -> std::size_t {
  std::size_t count = 0;
  auto all = letters(std::string(1000, 'x'));
  for (const char each : all) count += each == 'x' ? 1 : 0;
  return count;
}

// says: temporary whose address is used as value of local variable 'work'
auto of_what_computes() -> fork_task<std::size_t> {
  auto work = computed(std::string(1000, 'x'));
  co_return co_await std::move(work);
}

// says: is neither a coroutine nor a coroutine wrapper
auto unmarked(const std::string& text) -> task<std::size_t> { return length(text); }

// --- fine ---

BRAID_COROUTINE_WRAPPER auto marked(const std::string& text) -> task<std::size_t> { return length(text); }

[[maybe_unused]] auto waits(std::function<task<std::size_t>(std::string)> call, executor& workers)
    -> task<std::size_t> {
  const std::string text(1000, 'x');
  auto first = length(text);
  const std::size_t a = co_await std::move(first) + co_await length(std::string(1000, 'x')) + co_await marked(text);
  const std::size_t b = co_await call(text) + co_await std::invoke(call, text);
  auto both = when_all(length(text), length(text));
  static_cast<void>(co_await std::move(both));
  static_cast<void>(co_await with_timeout(std::chrono::seconds(1), length(text)));
  static_cast<void>(co_await with_timeout(std::chrono::seconds(1), sleep_for(std::chrono::seconds(1))));
  auto square = [](int n) { return n * n; };
  auto there = offload(workers, square, 3);
  co_return a + b + static_cast<std::size_t>(co_await std::move(there));
}

[[maybe_unused]] auto starts(runtime& where) -> std::size_t {
  return spawn(where, [text = std::string("x")]() -> task<std::size_t> { co_return text.size(); }).get() +
         where.run(length("x")) + sync_wait(length("x"));
}

}  // namespace
