// tests/task/job_times_test.cpp: which jobs are timed, what is measured of them, and that they do what they did.
#include <braid/task/detail/job_times.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace braid;
using braid::detail::job_times;
using namespace std::chrono_literals;

namespace {

/// A thread that has not posted before times its first post.
template <typename Fn>
void on_new_thread(Fn fn) {
  std::thread(fn).join();
}

/// Takes as long as it is told, by a clock that it moves.
struct slow_job final : job {
  explicit slow_job(manual_clock& on, duration so_long = {}) : job(&act), clock(on), length(so_long) {}

  static void act(job& self, action what) {
    auto& mine = static_cast<slow_job&>(self);
    ++(what == action::run ? mine.runs : mine.drops);
    if (what == action::run) mine.clock.advance(mine.length);
    if (mine.throws) throw std::runtime_error("no");
  }

  manual_clock& clock;
  duration length;
  bool throws = false;
  int runs = 0;
  int drops = 0;
};

struct scene {
  manual_clock clock;
  job_times times{clock};

  [[nodiscard]] auto queued() const -> std::uint64_t { return times.queued().buckets().back().count; }
  [[nodiscard]] auto ran() const -> std::uint64_t { return times.ran().buckets().back().count; }
};

}  // namespace

TEST_CASE("a job that is timed has waited from its post to its beginning, and has run from there to its end") {
  scene s;
  slow_job work(s.clock, 20ms);
  on_new_thread([&] { s.times.posted(work); });
  CHECK((work.code() == &slow_job::act));
  s.clock.advance(2ms);
  CHECK(s.queued() == 0);
  work.run();
  CHECK(work.runs == 1);
  CHECK(s.queued() == 1);
  CHECK(s.times.queued().seconds() == doctest::Approx(0.002));
  CHECK(s.times.queued().buckets()[6].count == 0);  // at most 1 ms
  CHECK(s.times.queued().buckets()[7].count == 1);  // at most 3 ms
  CHECK(s.ran() == 1);
  CHECK(s.times.ran().seconds() == doctest::Approx(0.02));
  work.run();  // as a job that is used again: it was not posted there
  CHECK(work.runs == 2);
  CHECK(s.queued() == 1);
}

TEST_CASE("a job that throws has run up to there") {
  scene s;
  slow_job work(s.clock, 5ms);
  work.throws = true;
  on_new_thread([&] { s.times.posted(work); });
  CHECK_THROWS_AS(work.run(), std::runtime_error);
  CHECK(s.ran() == 1);
  CHECK(s.times.ran().seconds() == doctest::Approx(0.005));
}

TEST_CASE("a job that is dropped has no times, and one that was refused is as it was") {
  scene s;
  slow_job dropped(s.clock);
  slow_job refused(s.clock);
  on_new_thread([&] { s.times.posted(dropped); });
  on_new_thread([&] { s.times.posted(refused); });
  dropped.drop();
  job_times::refused(refused);
  refused.run();
  job_times::refused(refused);  // as one that was not timed
  CHECK(dropped.drops == 1);
  CHECK(dropped.runs == 0);
  CHECK(refused.runs == 1);
  CHECK(s.queued() == 0);
  CHECK(s.ran() == 0);
}

TEST_CASE("a thread that posts now and then times each of its jobs") {
  scene s;
  on_new_thread([&] {
    slow_job work(s.clock);
    for (int i = 0; i < 100; ++i) {
      s.times.posted(work);
      s.clock.advance(1ms);
      work.run();
      CHECK(s.queued() == static_cast<std::uint64_t>(i) + 1);
    }
    CHECK(s.times.queued().seconds() == doctest::Approx(0.1));
  });
}

TEST_CASE("of many posts few jobs are timed, and they stand for all") {
  constexpr std::uint64_t posts = 100'000;
  scene s;
  on_new_thread([&] {
    slow_job work(s.clock);
    std::uint64_t timed = 0;
    for (std::uint64_t i = 0; i < posts; ++i) {
      s.times.posted(work);
      const std::uint64_t before = s.times.queued().buckets().back().count;
      work.run();
      timed += s.times.queued().buckets().back().count != before ? 1 : 0;
    }
    CHECK(timed > posts / 2047);
    CHECK(timed < posts / 500);
    CHECK(s.queued() <= posts);
    CHECK(s.queued() + 2047 >= posts);
    CHECK(s.ran() == s.queued());
    std::uint64_t patience = 0;  // a thread that slows down is timed more often again
    for (; s.queued() != posts + patience && patience < 5000; ++patience) {
      s.clock.advance(1ms);
      s.times.posted(work);
      work.run();
    }
    CHECK(patience < 2100);
    for (int i = 0; i < 1000; ++i) {
      s.clock.advance(1ms);
      s.times.posted(work);
      work.run();
    }
    CHECK(s.queued() == posts + patience + 1000);
  });
}

TEST_CASE("more jobs at a time than there is room for are not timed, and later ones stand for them") {
  constexpr std::size_t count = 5'000;
  scene s;
  on_new_thread([&] {
    std::vector<std::unique_ptr<slow_job>> jobs;
    for (std::size_t i = 0; i < count; ++i) {
      jobs.push_back(std::make_unique<slow_job>(s.clock));
      s.times.posted(*jobs.back());
      s.clock.advance(1ms);
    }
    for (const auto& each : jobs) each->run();
    for (const auto& each : jobs) CHECK(each->runs == 1);
    CHECK(s.queued() < count);
    slow_job last(s.clock);
    s.times.posted(last);
    last.run();
    CHECK(s.queued() == count + 1);
  });
}

TEST_CASE("a job whose memory is that of one that has gone from its queue in another way is timed for itself") {
  scene s;
  std::optional<slow_job> place;
  place.emplace(s.clock);
  on_new_thread([&] { s.times.posted(*place); });
  place.emplace(s.clock, 3ms);
  s.clock.advance(1s);
  on_new_thread([&] { s.times.posted(*place); });
  place->run();
  CHECK(place->runs == 1);
  CHECK(s.queued() == 1);
  CHECK(s.times.queued().seconds() == 0);
  CHECK(s.times.ran().seconds() == doctest::Approx(0.003));
}

TEST_CASE("a pool that is closed gives a timed job back as it was") {
  manual_clock clock;
  pool closed({.workers = 1});
  static_cast<void>(closed.shutdown(shutdown_mode::drain));
  slow_job work(clock);
  on_new_thread([&] { CHECK_FALSE(closed.try_post(work)); });
  work.run();
  CHECK(work.runs == 1);
  const auto captured = std::make_shared<int>(0);
  on_new_thread([&] { CHECK(post(closed, [held = captured] {}).error() == errc::closed); });
  CHECK(captured.use_count() == 1);
}

TEST_CASE("a closure that is timed takes its place among the others") {
  pool where({.workers = 1});
  std::latch opened(1);
  std::vector<int> order;  // written by the worker
  static_cast<void>(post(where, [&opened] { opened.wait(); }));
  on_new_thread([&] {
    for (int i = 0; i < 3; ++i)
      static_cast<void>(post(where, [&order, i] { order.push_back(i); }));  // the first is timed
    opened.count_down();
  });
  CHECK(where.wait_idle());
  CHECK(order == std::vector{0, 1, 2});
}
