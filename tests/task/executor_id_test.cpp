// tests/task/executor_id_test.cpp: what names an executor may outlive it, and keeps it alive only while it is used.
#include <braid/task/detail/executor_id.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/sanitizer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <unistd.h>

using braid::detail::executor_id;
using braid::detail::executor_use;
using braid::detail::try_post_to;
using braid::testing::manual_executor;

namespace {

auto is_there(executor_id of) -> bool { return executor_use(of).get() != nullptr; }

/// Says when it is asked to go, and when it has gone.
class leaving final : public braid::executor {
 public:
  explicit leaving(braid::atomic<bool>& gone) noexcept : gone_(gone) {}
  ~leaving() override {
    retire();
    gone_.store(true, braid::relaxed);
  }
  [[nodiscard]] auto try_post(braid::job& work) noexcept -> bool override {
    work.run();
    return true;
  }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }

 private:
  braid::atomic<bool>& gone_;
};

}  // namespace

TEST_CASE("an id names its executor, and nothing once that is gone") {
  auto first = std::make_unique<manual_executor>();
  const executor_id id = first->id();
  CHECK(id);
  CHECK(first->id() == id);
  CHECK(first->has_id(id));
  CHECK(executor_use(id).get() == first.get());
  first.reset();
  CHECK_FALSE(is_there(id));

  manual_executor second;  // in the slot of the first
  CHECK(second.id() != id);
  CHECK_FALSE(second.has_id(id));
  CHECK_FALSE(is_there(id));
  CHECK(executor_use(second.id()).get() == &second);
}

TEST_CASE("no executor has an id of its own, and is not found") {
  const executor_id none;
  CHECK_FALSE(none);
  CHECK_FALSE(is_there(none));
  const manual_executor unnamed;
  CHECK_FALSE(unnamed.has_id(none));
}

// A dangling reference stays a bug of the caller, which is to be found by a refusal and not by a crash elsewhere.
TEST_CASE("an executor that has gone gives an id that names nothing") {
  for (const bool was_named : {true, false}) {
    alignas(manual_executor) std::array<std::byte, sizeof(manual_executor)> place{};
    auto* const where = ::new (place.data()) manual_executor;
    const braid::executor& gone = *where;
    if (was_named) REQUIRE(is_there(where->id()));
    std::destroy_at(where);
    CHECK(gone.id());
    CHECK_FALSE(is_there(gone.id()));
  }
}

TEST_CASE("what is no number of a slot names nothing") {
  const manual_executor known;
  REQUIRE(is_there(known.id()));
  for (const std::uint32_t slot : {0U, 65U << 20U, 0x7fff'0123U, ~0U})
    for (const std::uint32_t generation : {0U, 1U, ~0U}) {
      if (slot == 0 && generation == 0) continue;  // none was named
      const executor_id made_up(slot, generation);
      CHECK_FALSE(is_there(made_up));
      auto& job = braid::detail::make_job([] {});
      CHECK_FALSE(try_post_to(made_up, job));
      job.discard();
    }
}

TEST_CASE("a post by an id is refused once the executor is gone, and the job stays with the caller") {
  auto where = std::make_unique<manual_executor>();
  const executor_id id = where->id();
  int runs = 0;
  auto& first = braid::detail::make_job([&runs] { ++runs; });
  REQUIRE(try_post_to(id, first));
  where->run();
  where.reset();
  auto& second = braid::detail::make_job([&runs] { ++runs; });
  CHECK_FALSE(try_post_to(id, second));
  second.discard();
  CHECK(runs == 1);
}

TEST_CASE("thousands of executors at once have ids of their own, and so have those after them") {
  std::set<std::uint64_t> seen;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<manual_executor>> all(3'000);
    for (auto& each : all) {
      each = std::make_unique<manual_executor>();
      CHECK(seen.insert(each->id().to_word()).second);
    }
    for (const auto& each : all) CHECK(executor_use(each->id()).get() == each.get());
  }
}

TEST_CASE("threads that ask at once for the first time get the same id") {
  for (int round = 0; round < 100; ++round) {
    const manual_executor where;
    std::latch all(2);
    std::optional<executor_id> other;
    std::thread asking([&] {
      all.arrive_and_wait();
      other = where.id();
    });
    all.arrive_and_wait();
    const executor_id mine = where.id();
    asking.join();
    CHECK(*other == mine);
    CHECK(executor_use(mine).get() == &where);
  }
}

TEST_CASE("an executor does not go while another thread uses it by its id") {
  braid::atomic<bool> gone{false};
  auto where = std::make_unique<leaving>(gone);
  const executor_id id = where->id();
  std::latch used(1);
  std::latch looked(1);
  bool gone_meanwhile = true;
  std::thread using_it([&] {
    const executor_use use(id);
    used.count_down();
    looked.wait();
    gone_meanwhile = gone.load(braid::relaxed);
  });
  used.wait();
  std::thread ending([&] { where.reset(); });
  while (executor_use(id)) std::this_thread::yield();  // until the end has begun
  looked.count_down();
  using_it.join();
  ending.join();
  CHECK_FALSE(gone_meanwhile);
  CHECK(gone.load(braid::relaxed));
}

TEST_CASE("a thread may end an executor that it uses itself") {
  braid::atomic<bool> gone{false};
  auto where = std::make_unique<leaving>(gone);
  const executor_use outer(where->id());
  auto& work = braid::detail::make_job([&where] { where.reset(); });
  CHECK(try_post_to(where->id(), work));
  CHECK(gone.load(braid::relaxed));
}

TEST_CASE("the child of a fork waits for no user that has stayed in the parent") {
  if (braid::testing::under_thread_sanitizer) return;  // it refuses threads in such a child
  const auto end = braid::testing::run_in_child([] {
    ::alarm(30);
    std::latch ended(1);
    std::latch forked(1);
    std::thread using_it([&] {
      auto where = std::make_unique<manual_executor>();
      const executor_use use(where->id());
      where.reset();  // its slot is free, and this thread counts there
      ended.count_down();
      forked.wait();
    });
    ended.wait();
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      for (int i = 0; i < 10; ++i) static_cast<void>(manual_executor().id());
      ::_exit(0);
    }
    forked.count_down();
    using_it.join();
    int status = -1;
    ::waitpid(child, &status, 0);
    if (status != 0) ::_exit(1);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}
