// tests/task/error_callbacks_test.cpp: a list of error callbacks that changes while it is used.
#include <braid/task/error_callbacks.hpp>

#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

using braid::error_callback;
using braid::error_callbacks;
using braid::pool;
using braid::post;
using braid::testing::text_of;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

auto thrown(const char* text) -> std::exception_ptr { return std::make_exception_ptr(std::runtime_error(text)); }

/// A callback that appends its mark and what it hears.
auto noted_in(std::string& notes, char mark) -> error_callback {
  return [&notes, mark](std::exception_ptr error) { notes += mark + text_of(error) + ' '; };
}

}  // namespace

TEST_CASE_FIXTURE(watched, "callbacks are called in the order of their adds, until they are removed") {
  error_callbacks all;
  std::string notes;
  const auto first = all.add(noted_in(notes, '1'));
  const auto second = all.add(noted_in(notes, '2'));
  CHECK(first != second);
  CHECK(all.size() == 2);
  all(thrown("a"), {});
  CHECK(all.contains(first));
  CHECK(all.remove(first));
  CHECK_FALSE(all.contains(first));
  CHECK(all.contains(second));
  CHECK_FALSE(all.remove(first));
  CHECK(all.size() == 1);
  all(thrown("b"), {});
  CHECK(notes == "1a 2a 2b ");
}

TEST_CASE_FIXTURE(watched, "a number is not given again, and zero names none") {
  error_callbacks all;
  std::string notes;
  const auto first = all.add(noted_in(notes, '1'));
  CHECK(all.remove(first));
  CHECK(all.add(noted_in(notes, '2')) != first);
  CHECK_FALSE(all.contains(error_callbacks::id{0}));
  CHECK_FALSE(all.remove(error_callbacks::id{0}));
}

TEST_CASE_FIXTURE(watched, "a pool reports to the list, whose copies change it while the pool runs") {
  error_callbacks all;
  std::string notes;
  pool where({.workers = 1, .on_error = all});
  const auto fail_once = [&where] {
    REQUIRE(post(where, [] { throw std::runtime_error("job"); }));
    REQUIRE(where.wait_idle());
  };
  std::optional<std::uint64_t> job;
  const auto first = all.add([&](std::exception_ptr, const error_callback::origin& from) { job = from.job; });
  const auto second = all.add(noted_in(notes, '2'));
  fail_once();
  CHECK(job == 1);
  const error_callbacks copy = all;
  CHECK(all.remove(second));
  CHECK_FALSE(copy.contains(second));
  fail_once();
  CHECK(job == 2);
  CHECK(all.remove(first));
  CHECK(notes == "2job ");
}

TEST_CASE_FIXTURE(watched, "a callback that throws keeps the others from nothing, and the first exception arrives") {
  error_callbacks all;
  std::string notes;
  all.add([](std::exception_ptr) { throw std::runtime_error("first"); });
  all.add([](std::exception_ptr) { throw std::runtime_error("second"); });
  all.add(noted_in(notes, '3'));
  CHECK_THROWS_WITH(all(thrown("a"), {}), "first");
  CHECK(notes == "3a ");
}

TEST_CASE_FIXTURE(watched, "a callback may remove itself and add another, which hears of the next exception") {
  error_callbacks all;
  std::string notes;
  std::optional<error_callbacks::id> own;
  own = all.add([&](std::exception_ptr error) {
    notes += "once:" + text_of(error) + ' ';
    CHECK(all.remove(*own));
    all.add(noted_in(notes, '2'));
  });
  all(thrown("a"), {});
  all(thrown("b"), {});
  CHECK(notes == "once:a 2b ");
}

TEST_CASE_FIXTURE(watched, "a callable that was removed is destroyed") {
  error_callbacks all;
  auto held = std::make_shared<int>(1);
  const auto added = all.add([held](std::exception_ptr) {});
  CHECK(held.use_count() > 1);
  CHECK(all.remove(added));
  CHECK(held.use_count() == 1);
}

TEST_CASE("without a callback the exception goes to stderr, and an empty callback is refused") {
  const auto silent = braid::testing::run_in_child([] {
    const error_callbacks none;
    none(thrown("nobody hears this"), {});
  });
  CHECK(silent.status == 0);
  CHECK(silent.errors.find("nobody hears this") != std::string::npos);
  const auto refused = braid::testing::run_in_child([] { error_callbacks().add(error_callback()); });
  CHECK(refused.errors.find("an error callback needs a callable") != std::string::npos);
}
