// tests/sync/user_code_test.cpp: markers and sections of code of the program.
#include <braid/sync/detail/user_code.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <chrono>
#include <latch>
#include <thread>

using braid::time_point;
using braid::detail::await_user_code;
using braid::detail::code_marker;
using braid::detail::is_in_user_code;
using braid::detail::outermost_code_marker;
using braid::detail::user_code_pause;
using braid::detail::user_code_section;
using namespace std::chrono_literals;

TEST_CASE("a marker has left when it says so, also if it is back in other code by then") {
  code_marker marker;
  CHECK(marker.has_left(marker.look()));
  marker.enter();
  const auto first = marker.look();
  CHECK_FALSE(marker.has_left(first));
  marker.pass();
  CHECK(marker.has_left(first));
  CHECK_FALSE(marker.has_left(marker.look()));
  const auto second = marker.look();
  marker.leave();
  CHECK(marker.has_left(second));
  CHECK(marker.has_left(marker.look()));
  marker.enter();
  CHECK(marker.has_left(second));
  CHECK_FALSE(marker.has_left(marker.look()));
}

TEST_CASE("a marker that is told twice what it says already stays as it is, or passes") {
  code_marker marker;
  marker.leave();
  CHECK(marker.has_left(marker.look()));
  marker.enter();
  const auto first = marker.look();
  marker.enter();
  CHECK(marker.has_left(first));
  CHECK_FALSE(marker.has_left(marker.look()));
}

TEST_CASE("only the outermost section of a thread has a marker") {
  CHECK_FALSE(is_in_user_code());
  CHECK(outermost_code_marker() == nullptr);
  {
    const user_code_section outer;
    CHECK(outer.marker() != nullptr);
    CHECK(outermost_code_marker() == outer.marker());
    CHECK(is_in_user_code());
    const auto seen = outer.marker()->look();
    {
      const user_code_section inner;
      CHECK(inner.marker() == nullptr);
      CHECK(outermost_code_marker() == nullptr);
      inner.pass();
      const user_code_pause pause(inner.marker());
    }
    CHECK_FALSE(outer.marker()->has_left(seen));
    {
      const user_code_pause pause(outer.marker());
      CHECK(outer.marker()->has_left(outer.marker()->look()));
    }
    CHECK_FALSE(outer.marker()->has_left(outer.marker()->look()));
    CHECK(outer.marker()->has_left(seen));
  }
  CHECK_FALSE(is_in_user_code());
}

TEST_CASE("a thread in a section is waited for until it pauses, and not at all when it has ended") {
  const braid::testing::watchdog dog(60s);
  std::latch inside(1);
  std::latch may_pause(1);
  std::latch pauses(1);
  std::latch may_end(1);
  std::thread other([&] {
    const user_code_section section;
    inside.count_down();
    may_pause.wait();
    const user_code_pause pause(section.marker());
    pauses.count_down();
    may_end.wait();
  });
  inside.wait();
  CHECK_FALSE(await_user_code(time_point()));
  may_pause.count_down();
  pauses.wait();
  CHECK(await_user_code(time_point()));
  may_end.count_down();
  other.join();
  CHECK(await_user_code(time_point()));
}
