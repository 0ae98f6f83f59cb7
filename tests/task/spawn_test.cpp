// tests/task/spawn_test.cpp: spawned work gives its result to its future, or says why it does not.
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/sanitizer.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

using braid::errc;
using braid::spawn;
using braid::try_spawn;
using braid::testing::deaths;
using braid::testing::failure_code;
using braid::testing::failure_text;
using braid::testing::manual_executor;
using braid::testing::mortal;

namespace {

std::size_t allocations = 0;  // by operator new, of this program and the library

auto add(int a, std::unique_ptr<int> b) -> int { return a + *b; }

}  // namespace

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)  // the sanitizers have their own
// Not inlined: one compiler takes the malloc in one of them for a mistake that the free in another one makes.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  void* place = std::malloc(size);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
[[gnu::noinline]] void operator delete(void* place) noexcept { std::free(place); }
[[gnu::noinline]] void operator delete(void* place, std::size_t /*size*/) noexcept { std::free(place); }
#endif

TEST_CASE("the callable runs where it was spawned, with its arguments, and its result arrives") {
  manual_executor where;
  auto sum = spawn(where, add, 2, std::make_unique<int>(3));
  CHECK_FALSE(sum.is_ready());
  where.run();
  CHECK(sum.get() == 5);
}

TEST_CASE("member functions, lvalues and move-only callables can be spawned") {
  struct counter {
    auto next() -> int { return ++value; }
    int value = 0;
  } count;
  manual_executor where;
  const auto lvalue = [] { return 10; };
  auto by_member = spawn(where, &counter::next, &count);
  auto by_lvalue = spawn(where, lvalue);
  auto move_only = spawn(where, [number = std::make_unique<int>(100)] { return *number; });
  where.run_all();
  CHECK(by_member.get() + by_lvalue.get() + move_only.get() == 111);
}

TEST_CASE("nothing, references and values that were returned as rvalues arrive") {
  manual_executor where;
  int object = 0;
  std::string text = "moved";
  auto nothing = spawn(where, [&] { object = 1; });
  auto reference = spawn(where, [&]() -> int& { return object; });
  auto rvalue = spawn(where, [&]() -> std::string&& { return std::move(text); });
  static_assert(std::is_same_v<decltype(rvalue), braid::future<std::string>>);
  where.run_all();
  nothing.get();
  CHECK(object == 1);
  CHECK(&reference.get() == &object);
  CHECK(rvalue.get() == "moved");
}

TEST_CASE("what the callable throws arrives, and not at the executor") {
  manual_executor where;
  auto failed = spawn(where, []() -> int { throw std::runtime_error("thrown"); });
  CHECK_NOTHROW(where.run());
  CHECK(failure_text(failed) == "thrown");
}

TEST_CASE("callable and arguments are gone when the result is seen, also after an exception") {
  for (const bool throws : {false, true}) {
    manual_executor where;
    deaths ended;
    int seen = -1;
    auto work = spawn(
        where,
        [throws, guard = mortal(ended)](const mortal&) {
          if (throws) throw std::runtime_error("thrown");
        },
        mortal(ended));
    auto after = std::move(work).then_inline([&] { seen = ended.count; }).recover_inline([&](std::exception_ptr) {
      seen = ended.count;
    });
    where.run();
    CHECK(seen == 2);
    after.get();
  }
}

TEST_CASE("work that a shutdown drops fails as dropped, without a call") {
  manual_executor where;
  deaths ended;
  bool called = false;
  auto work = spawn(where, [&called, guard = mortal(ended)] { called = true; });
  where.drop();
  CHECK(failure_code(work) == errc::dropped);
  CHECK_FALSE(called);
  CHECK(ended.count == 1);
}

TEST_CASE("a closed executor makes the future fail, and try_spawn say so") {
  manual_executor where;
  where.close();
  deaths ended;
  bool called = false;
  auto work = spawn(where, [&called, guard = mortal(ended)] { called = true; });
  CHECK(work.is_ready());
  CHECK(failure_code(work) == errc::closed);
  const auto tried = try_spawn(where, [&called, guard = mortal(ended)] { called = true; });
  REQUIRE_FALSE(tried.has_value());
  CHECK(tried.error() == errc::closed);
  CHECK_FALSE(called);
  CHECK(ended.count == 2);
}

TEST_CASE("try_spawn gives the future of work that was taken") {
  manual_executor where;
  std::stop_source source;
  auto plain = try_spawn(where, [](int n) { return n; }, 3);
  auto stoppable = try_spawn(where, source.get_token(), [](int n) { return n; }, 4);
  where.run_all();
  CHECK(plain.value().get() == 3);
  CHECK(stoppable.value().get() == 4);
}

TEST_CASE("a stop that was requested before the work begins leaves it out; one that comes later does not") {
  manual_executor where;
  std::stop_source source;
  int calls = 0;
  deaths ended;
  auto before = spawn(where, source.get_token(), [&] { ++calls; });
  auto after = spawn(where, source.get_token(), [&calls, guard = mortal(ended)] { ++calls; });
  where.run();
  source.request_stop();
  where.run();
  CHECK_NOTHROW(before.get());
  CHECK(failure_code(after) == errc::stopped);
  CHECK(calls == 1);
  CHECK(ended.count == 1);
}

TEST_CASE("a callable may look at the stop that the caller gave, ahead of its arguments") {
  manual_executor where;
  std::stop_source source;
  braid::stop_flag flag;
  auto by_token =
      spawn(where, source.get_token(), [](std::stop_token stop, int n) { return stop.stop_possible() ? n : 0; }, 1);
  auto by_flag = spawn(
      where, flag, [](const braid::stop_flag& stop, const braid::stop_flag* same) { return &stop == same; }, &flag);
  auto tried = try_spawn(where, flag, [](const braid::stop_flag& stop) { return stop.requested(); });
  auto left_out = spawn(where, source.get_token(), [](std::stop_token) { return 1; });
  for (int i = 0; i < 3; ++i) where.run();
  source.request_stop();
  where.run();
  CHECK(by_token.get() == 1);
  CHECK(by_flag.get());
  CHECK_FALSE(tried.value().get());
  CHECK(failure_code(left_out) == errc::stopped);
}

TEST_CASE("a callable that asks for a token gets one that its executor stops, and does not begin after that") {
  struct stoppable final : braid::executor {
    auto try_post(braid::job& work) noexcept -> bool override { return inner.try_post(work); }
    [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }
    [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override { return source.get_token(); }
    manual_executor inner;
    std::stop_source source;
  } where;
  deaths ended;
  std::stop_token seen;
  auto first = spawn(where, [&](std::stop_token stop, int n) { return seen = std::move(stop), n; }, 5);
  auto late = spawn(where, [guard = mortal(ended)](std::stop_token) { return 1; });
  auto indifferent = spawn(where, [] { return 2; });
  auto tried = try_spawn(where, [](std::stop_token) { return 3; });
  where.inner.run();
  CHECK_FALSE(seen.stop_requested());
  where.source.request_stop();
  CHECK(seen.stop_requested());
  where.inner.run_all();
  CHECK(first.get() == 5);
  CHECK(failure_code(late) == errc::stopped);
  CHECK(ended.count == 1);
  CHECK(indifferent.get() == 2);
  CHECK(failure_code(tried.value()) == errc::stopped);
}

TEST_CASE("a future stops the callable that asks for a token, also on an executor without a stop of its own") {
  manual_executor where;
  std::stop_token seen;
  auto work = spawn(where, [&seen](std::stop_token stop) { return seen = std::move(stop), 1; });
  auto left_out = spawn(where, [](std::stop_token) { return 2; });
  auto goes_on = spawn(where, [] { return 3; });
  where.run();
  CHECK_FALSE(seen.stop_requested());
  work.request_stop();
  left_out.request_stop();
  goes_on.request_stop();
  where.run_all();
  CHECK(seen.stop_requested());
  CHECK(work.get() == 1);
  CHECK(failure_code(left_out) == errc::stopped);
  CHECK(goes_on.get() == 3);
}

TEST_CASE("a stop flag gives its reason") {
  manual_executor where;
  braid::stop_flag stop;
  auto runs = spawn(where, stop, [] { return 1; });
  auto late = spawn(where, stop, [] { return 1; });
  where.run();
  stop.request(errc::deadline_exceeded);
  where.run();
  CHECK(runs.get() == 1);
  CHECK(failure_code(late) == errc::deadline_exceeded);
  for (auto code = 1; code <= static_cast<int>(errc::status_lost); ++code) {  // whichever it is
    braid::stop_flag other;
    auto left_out = spawn(where, other, [] { return 1; });
    other.request(static_cast<errc>(code));
    where.run();
    CHECK(failure_code(left_out) == static_cast<errc>(code));
  }
}

TEST_CASE("job, callable and result share one allocation, and so do a continuation and its result") {
  if (braid::testing::under_address_sanitizer || braid::testing::under_thread_sanitizer) return;
  manual_executor where;
  std::array<char, 2000> large{};  // above 1 KiB every block for a job comes from operator new
  static_cast<void>(spawn(where, [large] { return large; }));
  where.run();  // the executor has its memory from here on
  std::size_t before = allocations;
  auto work = spawn(where, [large] { return large; });
  CHECK(allocations == before + 1);
  where.run();
  CHECK(allocations == before + 1);
  before = allocations;
  auto after = std::move(work).then([large](const auto& value) { return value.size() + large.size(); });
  CHECK(allocations == before + 1);
  where.run();
  CHECK(allocations == before + 1);
  CHECK(after.get() == 4000);
}
