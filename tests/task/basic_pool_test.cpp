// tests/task/basic_pool_test.cpp: a scheduler of the program's own is a pool like the others.
#include <braid/task/basic_pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>

#include <chrono>
#include <cstdint>
#include <latch>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

template <typename Policy>
void runs_jobs() {
  braid::basic_pool<Policy> where({.workers = 2, .scheduler = braid::scheduler::least_loaded});
  CHECK(where.size() == 2);  // the named scheduler does not count
  braid::pool& seen_as_any = where;
  braid::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) REQUIRE(post(seen_as_any, [&ran] { ran.fetch_add(1, braid::relaxed); }));
  CHECK(where.wait_idle());
  CHECK(ran.load(braid::relaxed) == 50);
}

}  // namespace

TEST_CASE("a pool of a policy runs jobs, and is seen as any pool") {
  runs_jobs<braid::shared_queue>();
  runs_jobs<braid::work_stealing>();
}

TEST_CASE("what is no policy makes no pool") {
  CHECK(braid::scheduling_policy<braid::work_stealing>);
  CHECK_FALSE(braid::scheduling_policy<int>);
}

namespace {

/// A scheduler that runs the newest job first, and every job within a tick counts as one.
class newest_first final : public braid::scheduling_hooks {
 public:
  explicit newest_first(const braid::worker_list& /*workers*/) noexcept {}

  [[nodiscard]] auto place(braid::job& work, braid::worker* /*poster*/) noexcept -> braid::placement override {
    const std::lock_guard lock(mutex_);
    if (closed_) return {};
    work.next = newest_;
    newest_ = &work;
    return {.how = braid::placement::verdict::urgent};
  }
  [[nodiscard]] auto refill(braid::worker& /*self*/, braid::search /*why*/) noexcept -> braid::found_job override {
    return pop();
  }
  [[nodiscard]] auto tick(braid::worker& self) noexcept -> braid::found_job override {
    return refill(self, braid::search::routine);
  }
  [[nodiscard]] auto may_park(braid::worker& /*self*/) noexcept -> bool override { return empty(); }
  [[nodiscard]] auto empty() noexcept -> bool override {
    const std::lock_guard lock(mutex_);
    return newest_ == nullptr;
  }
  void close() noexcept override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void drop_all() noexcept override {
    while (braid::job* const pending = pop()) pending->drop();
  }

 private:
  auto pop() noexcept -> braid::job* {
    const std::lock_guard lock(mutex_);
    return newest_ == nullptr ? nullptr : std::exchange(newest_, newest_->next);
  }

  std::mutex mutex_;
  braid::job* newest_ = nullptr;
  bool closed_ = false;
};

}  // namespace

TEST_CASE("another scheduler can be put in, and decides the order") {
  braid::basic_pool<newest_first> where({.workers = 1});
  std::latch entered(1);
  std::latch opened(1);
  REQUIRE(post(where, [&] {
    entered.count_down();
    opened.wait();
  }));
  entered.wait();
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) REQUIRE(post(where, [&order, i] { order.push_back(i); }));
  opened.count_down();
  CHECK(where.wait_idle());
  CHECK(order == std::vector<int>{4, 3, 2, 1, 0});
  CHECK(where.shutdown(braid::shutdown_mode::drain));
}

namespace {

/// A scheduler that counts how often workers ask whether they may sleep.
struct counting final : braid::shared_queue {
  static inline braid::atomic<std::uint64_t> asked{0};  // +1 by workers

  using braid::shared_queue::shared_queue;
  [[nodiscard]] auto may_park(braid::worker& self) noexcept -> bool override {
    asked.fetch_add(1, braid::relaxed);
    return braid::shared_queue::may_park(self);
  }
};

}  // namespace

TEST_CASE("a worker that has run nothing yet sleeps at once, however long it would stay awake after a job") {
  braid::basic_pool<counting> where({.workers = 4, .stay_awake = std::chrono::milliseconds(20)});
  REQUIRE(braid::testing::eventually([&where] { return where.statistics().sleeps == 4; }));
  CHECK(counting::asked.load(braid::relaxed) == 4);  // by each of them once, as the last thing that it does
}
