// tests/runtime/static_objects_test.cpp: static objects use the runtime of the process at both ends of its life.
#include <braid/runtime/default_runtime.hpp>

#include <doctest/doctest.h>

#include <tests/support/failures.hpp>

#include <cstdlib>
#include <ostream>

namespace {

/// Made before the runtime, and so ends after it.
struct before_all {
  ~before_all() {
    const bool refused = braid::post([] {}).error() == braid::errc::closed;
    const bool failed = braid::testing::failure_code(braid::spawn([] { return 1; })) == braid::errc::closed;
    const bool again = braid::finalize().has_value();
    if (!refused || !failed || !again) std::_Exit(3);
  }
};

/// Makes the runtime.
struct before_main {
  braid::future<int> work = braid::spawn([] { return 7; });
};

const before_all first;
before_main early;

/// Made after the runtime, and so ends before it.
struct within_main {
  ~within_main() {
    if (braid::spawn([] { return 8; }).get() != 8) std::_Exit(4);
  }
};

}  // namespace

TEST_CASE("work of a static object's constructor runs, and destructors before and after the end get an answer") {
  static const within_main late;
  CHECK(early.work.get() == 7);
}
