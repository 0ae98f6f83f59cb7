// tests/task/future_chain_test.cpp: a chain of a million links needs no more stack than a short one, whatever ends it.
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/failures.hpp>
#include <tests/support/queue_executor.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/stack_extent.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>

using braid::errc;
using braid::future;
using braid::promise;
using braid::testing::failure;
using braid::testing::failure_code;
using braid::testing::failure_text;
using braid::testing::queue_executor;
using braid::testing::stack_extent;

namespace {

constexpr bool sanitized = braid::testing::under_address_sanitizer || braid::testing::under_thread_sanitizer;
constexpr int links = sanitized ? 200'000 : 1'000'000;  // that many frames of any size are more than a stack holds
constexpr std::size_t little = 4096;

/// Marks the stack where it is destroyed.
class witness {
 public:
  explicit witness(stack_extent& in) noexcept : in_(&in) {}
  witness(witness&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
  auto operator=(witness&&) -> witness& = delete;
  ~witness() {
    if (in_ != nullptr) in_->mark();
  }

 private:
  stack_extent* in_;
};

auto chain_of(future<int> first, stack_extent& stack) -> future<int> {
  for (int i = 0; i < links; ++i)
    first = std::move(first).then([&stack](int n) {
      stack.mark();
      return n + 1;
    });
  return first;
}

}  // namespace

TEST_CASE("links that were made before the value is there run one after the other") {
  queue_executor where;
  stack_extent stack;
  promise<int> source(where);
  auto last = chain_of(source.get_future(), stack);
  CHECK(source.set_value(0));
  where.work();
  CHECK(last.get() == links);
  CHECK(stack.bytes() <= little);
}

TEST_CASE("links that were made after the value was there run one after the other") {
  queue_executor where;
  stack_extent stack;
  auto first = braid::spawn(where, [] { return 0; });
  where.work();
  auto last = chain_of(std::move(first), stack);
  where.work();
  CHECK(last.get() == links);
  CHECK(stack.bytes() <= little);
}

TEST_CASE("links that run inline do not run inside of each other") {
  stack_extent stack;
  promise<int> source;  // without an executor every link runs inline
  auto last = chain_of(source.get_future(), stack);
  CHECK(source.set_value(0));
  CHECK(last.get() == links);
  CHECK(stack.bytes() <= little);
  CHECK(chain_of(braid::ready_future<int>(0), stack).get() == links);
}

TEST_CASE("a failure passes a million links by, and their captures are destroyed one after the other") {
  stack_extent stack;
  promise<int> source;
  auto last = source.get_future();
  for (int i = 0; i < links; ++i) last = std::move(last).then([guard = witness(stack)](int n) { return n; });
  CHECK(source.set_exception(failure("lost")));
  CHECK(failure_text(last) == "lost");
  CHECK(stack.marks() == links);
  CHECK(stack.bytes() <= little);
}

TEST_CASE("a chain that nobody fulfils or waits for is destroyed link by link") {
  stack_extent stack;
  {
    promise<int> source;
    auto last = source.get_future();
    for (int i = 0; i < links; ++i) last = std::move(last).then([guard = witness(stack)](int n) { return n; });
    last.detach();
    CHECK(stack.marks() == 0);
  }
  CHECK(stack.marks() == links);
  CHECK(stack.bytes() <= little);
}

TEST_CASE("a chain whose executor drops it fails from there on") {
  queue_executor where;
  stack_extent stack;
  promise<int> source(where);
  auto last = chain_of(source.get_future(), stack);
  CHECK(source.set_value(0));
  where.drop_all();
  CHECK(failure_code(last) == errc::dropped);
}

TEST_CASE("a chain of lookers does not run inside of each other") {
  stack_extent stack;
  promise<int> source;
  auto at = source.get_future();
  for (int i = 0; i < links; ++i) {
    auto next = at.then_inline([&stack](const int& n) {
      stack.mark();
      return n + 1;
    });
    at = std::move(next);
  }
  CHECK(source.set_value(0));
  CHECK(at.get() == links);
  CHECK(stack.bytes() <= little);
}

TEST_CASE("futures that are returned from within each other are unwrapped one after the other") {
  promise<int> innermost;
  auto nested = innermost.get_future();
  for (int i = 0; i < links; ++i)
    nested = braid::ready_future<void>().then([inner = std::move(nested)]() mutable { return std::move(inner); });
  CHECK(innermost.set_value(3));
  CHECK(nested.get() == 3);
}

TEST_CASE("values that wait for those who look at them are passed on one after the other") {
  stack_extent stack;
  promise<int> source;
  auto at = source.get_future();
  for (int i = 0; i < links; ++i) {
    at.then_inline([&stack](const int&) { stack.mark(); }).detach();
    at = std::move(at).then([&stack](int n) {
      stack.mark();
      return n + 1;
    });
  }
  CHECK(source.set_value(0));
  CHECK(at.get() == links);
  CHECK(stack.bytes() <= little);
}
