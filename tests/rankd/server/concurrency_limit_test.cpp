// tests/rankd/server/concurrency_limit_test.cpp: a limit that follows how long requests take.
#include <rankd/server/admission/concurrency_limit.hpp>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

/// As many requests as make several steps, each with all places taken.
void note_many(concurrency_limit& limit, double slowdown, int steps) {
  for (int i = 0; i < 64 * steps; ++i) limit.note(slowdown, limit.limit());
}

}  // namespace

TEST_CASE("requests that take much longer than unhindered ones lower the limit, down to the least") {
  concurrency_limit limit(256);
  CHECK(limit.limit() == 256);
  note_many(limit, 8, 1);
  CHECK(limit.limit() == 128);
  note_many(limit, 100, 1);  // one step halves it at most
  CHECK(limit.limit() == 64);
  note_many(limit, 100, 20);
  CHECK(limit.limit() == concurrency_limit::min_limit);
}

TEST_CASE("a limit that is used grows while requests are quick, and never above the most") {
  concurrency_limit limit(100);
  note_many(limit, 16, 20);
  const std::size_t low = limit.limit();
  note_many(limit, 1, 3);
  CHECK(limit.limit() > low);
  note_many(limit, 3.9, 100);
  CHECK(limit.limit() == 100);
}

TEST_CASE("a limit that nobody reaches does not grow") {
  concurrency_limit limit(100);
  note_many(limit, 16, 20);
  for (int i = 0; i < 64 * 50; ++i) limit.note(1, 1);
  CHECK(limit.limit() == concurrency_limit::min_limit);
}

TEST_CASE("one request that takes very long among many quick ones does not lower the limit") {
  concurrency_limit limit(256);
  limit.note(1e6, limit.limit());
  for (int i = 1; i < 64; ++i) limit.note(1, limit.limit());
  CHECK(limit.limit() == 256);
}

TEST_CASE("a limit below the least stays where it is") {
  concurrency_limit one(1);
  note_many(one, 16, 10);
  CHECK(one.limit() == 1);
  note_many(one, 1, 10);
  CHECK(one.limit() == 1);
}

TEST_CASE("the unhindered time is the shortest lately, and short times count as none") {
  unhindered_time pace;
  CHECK(pace.note(10ms) == 1.0);
  CHECK(pace.note(40ms) == 4.0);
  CHECK(pace.note(5ms) == 1.0);
  CHECK(pace.note(40ms) == 8.0);
  for (int i = 0; i < 3000; ++i) static_cast<void>(pace.note(20ms));  // what was true long ago is forgotten
  CHECK(pace.note(40ms) == 2.0);
  unhindered_time quick;
  static_cast<void>(quick.note(1us));
  CHECK(quick.note(unhindered_time::min_time) == 1.0);
  CHECK(quick.note(2 * unhindered_time::min_time) == 2.0);
}
