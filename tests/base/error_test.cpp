// tests/base/error_test.cpp: every error code has a sentence of its own and travels as a std::error_code.
#include <braid/base/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <ostream>
#include <set>
#include <string>
#include <system_error>

using braid::errc;

namespace {

constexpr errc all_codes[] = {
    errc::stopped,         errc::deadline_exceeded, errc::closed,         errc::dropped,      errc::cycle,
    errc::would_deadlock,  errc::invalid_argument,  errc::broken_promise, errc::already_set,  errc::full,
    errc::stale,           errc::finished,          errc::unfinished,     errc::ended,        errc::unknown_host,
    errc::unknown_backend, errc::status_lost,       errc::bad_address,    errc::bad_interval, errc::too_long};

auto refuse() -> braid::result<int> { return braid::fail(errc::closed); }

}  // namespace

TEST_CASE("every code has a sentence, and no two have the same") {
  std::set<std::string> sentences;
  for (const errc code : all_codes) {
    const std::error_code error = code;
    CHECK(error.message() != "unknown braid error");
    sentences.insert(error.message());
  }
  CHECK(sentences.size() == std::size(all_codes));
}

TEST_CASE("zero and numbers without a code are unknown") {
  CHECK(braid::detail::braid_category().message(0) == "unknown braid error");
  CHECK(braid::detail::braid_category().message(std::size(all_codes) + 1) == "unknown braid error");
}

TEST_CASE("no code reads as success") {
  for (const errc code : all_codes) CHECK(static_cast<bool>(std::error_code(code)));
}

TEST_CASE("a code compares with errors of its own category only") {
  const std::error_code error = errc::cycle;
  CHECK(error == errc::cycle);
  CHECK(error != errc::stopped);
  CHECK(error != std::error_code(static_cast<int>(errc::cycle), std::generic_category()));
  CHECK(std::string(error.category().name()) == "braid");
}

TEST_CASE("a code that the system has as well compares equal to the same condition as the system's") {
  struct twin {
    errc ours;
    int of_system;
    std::errc condition;
  };
  constexpr twin twins[] = {
      {errc::invalid_argument, EINVAL, std::errc::invalid_argument},
      {errc::bad_address, EINVAL, std::errc::invalid_argument},
      {errc::bad_interval, EINVAL, std::errc::invalid_argument},
      {errc::deadline_exceeded, ETIMEDOUT, std::errc::timed_out},
      {errc::stopped, ECANCELED, std::errc::operation_canceled},
      {errc::too_long, EMSGSIZE, std::errc::message_size},
      {errc::would_deadlock, EDEADLK, std::errc::resource_deadlock_would_occur},
  };
  for (const twin& each : twins) {
    CAPTURE(each.of_system);
    CHECK(braid::make_error_code(each.ours) == each.condition);
    errno = each.of_system;
    CHECK(braid::last_system_error() == each.condition);
    CHECK(std::error_code(each.of_system, std::generic_category()) == each.condition);
    for (const errc other : all_codes) {
      const auto is_twin = [&](const twin& known) { return known.ours == other && known.condition == each.condition; };
      CHECK((braid::make_error_code(other) == each.condition) == std::ranges::any_of(twins, is_twin));
    }
  }
}

TEST_CASE("a code that braid alone has is a condition of its own") {
  const std::error_condition cycle = braid::make_error_code(errc::cycle).default_error_condition();
  CHECK(cycle.category() == braid::detail::braid_category());
  CHECK(cycle.value() == static_cast<int>(errc::cycle));
}

TEST_CASE("a failing function returns its code") {
  const auto answer = refuse();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error() == errc::closed);
}

TEST_CASE("the last error of the system keeps the system's code") {
  errno = ENOENT;
  const auto error = braid::last_system_error();
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(error.category() == std::system_category());
}

TEST_CASE("or_throw gives the value, and throws the error with its message and what was being done") {
  CHECK(braid::or_throw(braid::result<int>(7)) == 7);
  braid::or_throw(braid::result<void>());
  try {
    braid::or_throw(refuse());
    FAIL("it has not thrown");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.code() == errc::closed);
    CHECK(std::string(thrown.what()) == std::error_code(errc::closed).message());
  }
  try {
    braid::or_throw(braid::result<void>(braid::fail(errc::full)), "listening on port 80");
    FAIL("it has not thrown");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.code() == errc::full);
    CHECK(std::string(thrown.what()).starts_with("listening on port 80: "));
  }
}
