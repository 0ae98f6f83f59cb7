// tests/coro/permit_count_model.cpp: under no schedule do two threads hold the only permit, is a waiter forgotten, or
// does a permit get lost, although permits go through the lock only while threads wait.
#include <braid/coro/detail/permit_count.hpp>
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/small_mutex.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <array>
#include <cstddef>
#include <mutex>
#include <string>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::let_others_run;
using braid::detail::permit_count;
using braid::detail::small_mutex;
namespace model = braid::model;

namespace {

enum class fault { none, leaves_the_announcement, adds_nothing_to_the_rest, announces_nothing };

/// An async_semaphore with one permit, whose tasks are threads.
template <fault Fault>
struct semaphore {
  static constexpr std::size_t threads = 4;

  explicit semaphore(model::run& of) : r(of) {}

  /// Returns whether it has the permit: a thread that `may_leave` leaves the queue if it was not granted one.
  auto acquire_permit(std::size_t id, bool may_leave = false) -> bool {
    if (permits.try_take()) return has_entered(id);
    {
      const std::lock_guard guard(lock);
      if (Fault == fault::announces_nothing ? permits.try_take() : permits.take_or_await()) return has_entered(id);
      r.check(!has_released || recorded.load(relaxed) != 1, "a thread that has released is not recorded");
      queue[length++] = id;
    }
    if (may_leave && leaves(id)) return false;
    while (!granted[id].load(acquire)) let_others_run();
    return true;
  }

  void release_permit(std::size_t id) {
    recorded.store(0, relaxed);
    if (!permits.try_add(1)) hand_over();
    if (id == 1) has_released = true;  // no step of the model lies between
  }

  model::run& r;
  permit_count permits{1};
  small_mutex lock;
  std::array<std::size_t, threads> queue{};
  std::size_t length = 0;
  std::array<atomic<bool>, threads> granted{};
  atomic<std::size_t> recorded{0};
  bool has_released = false;
  model::shared<int> inside{0};

 private:
  auto has_entered(std::size_t id) -> bool {
    if (id == 1) recorded.store(1, relaxed);
    return true;
  }

  auto leaves(std::size_t id) -> bool {
    const std::lock_guard guard(lock);
    for (std::size_t at = 0; at < length; ++at) {
      if (queue[at] != id) continue;
      for (--length; at < length; ++at) queue[at] = queue[at + 1];
      return true;
    }
    return false;
  }

  void hand_over() {
    std::size_t next = threads;
    {
      const std::lock_guard guard(lock);
      if (length != 0) {
        next = queue[0];
        --length;
        for (std::size_t at = 0; at < length; ++at) queue[at] = queue[at + 1];
      }
      const std::size_t rest = next == threads && Fault != fault::adds_nothing_to_the_rest ? 1 : 0;
      if (length == 0 && Fault != fault::leaves_the_announcement) permits.add_to_rest(rest);
    }
    if (next != threads) granted[next].store(true, release);
  }
};

template <fault Fault>
void enter(semaphore<Fault>& all, std::size_t id, bool may_leave = false) {
  if (!all.acquire_permit(id, may_leave)) return;
  all.inside = all.inside + 1;
  all.release_permit(id);
}

template <fault Fault>
void three_enter(model::run& r) {
  semaphore<Fault> all(r);
  for (std::size_t id = 1; id < 4; ++id) r.thread([&all, id] { enter(all, id); });
  r.join();
  r.check(all.inside == 3, "each was inside");
  r.check(all.permits.free() == 1, "the permit is free again");
}

template <fault Fault>
void one_leaves(model::run& r) {
  semaphore<Fault> all(r);
  r.thread([&] { enter(all, 1); });
  r.thread([&] { enter(all, 2, true); });
  r.thread([&] { enter(all, 3); });
  r.join();
  r.check(all.permits.free() == 1, "the permit is free again");
}

/// By seeds: two threads that poll for the lock could go on for ever while the third does not run.
auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore({}, body).failure; }

}  // namespace

TEST_CASE("one thread at a time holds the permit, and it is free in the end") {
  CHECK(failure_of(three_enter<fault::none>) == "");
  CHECK(failure_of(one_leaves<fault::none>) == "");
}

TEST_CASE("every order of the permits is needed") {
  CHECK(model::orders_not_needed("permit_count.hpp", {}, {three_enter<fault::none>, one_leaves<fault::none>},
                                 model::by_seeds) == "");
}

TEST_CASE("faults of the permits are found") {
  CHECK(failure_of(three_enter<fault::announces_nothing>) != "");
  CHECK(failure_of(one_leaves<fault::leaves_the_announcement>) != "");
  CHECK(failure_of(one_leaves<fault::adds_nothing_to_the_rest>) != "");
}
