// tests/sync/small_mutex_model.cpp: under no schedule are two threads inside, does one miss what another did there, or
// does one sleep for ever.
#include <braid/sync/detail/small_mutex.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <cstdint>
#include <mutex>
#include <string>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::futex_wait;
using braid::detail::futex_wake;
using braid::detail::small_mutex;
namespace model = braid::model;

namespace {

template <typename Lock, int Threads>
void add_inside(model::run& r) {
  Lock lock;
  model::shared<int> count{0};
  for (int i = 0; i < Threads; ++i)
    r.thread([&] {
      const std::lock_guard guard(lock);
      count = count + 1;
    });
  r.join();
  r.check(count == Threads, "each has added one");
}

enum class fault { none, wakes_no_thread, forgets_sleepers };

/// The lock with a fault, to see that the body above finds it.
template <fault Fault>
class faulty_mutex {
 public:
  void lock() {
    std::uint32_t seen = 0;
    if (word_.compare_exchange_strong(seen, 1, acquire, relaxed)) return;
    const std::uint32_t mine = Fault == fault::forgets_sleepers ? 1 : 2;
    for (std::uint32_t next = 2; word_.exchange(next, acquire) != 0; next = mine) futex_wait(word_, next);
  }
  void unlock() {
    if (word_.exchange(0, release) == 2 && Fault != fault::wakes_no_thread) futex_wake(word_, 1);
  }

 private:
  atomic<std::uint32_t> word_{0};
};

auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore_all({}, body).failure; }

}  // namespace

TEST_CASE("two and three threads are inside one after the other, and none sleeps for ever") {
  const model::report two = model::explore_all({.preemptions = 3}, add_inside<small_mutex, 2>);
  CHECK(two.failure == "");
  CHECK(two.complete);
  CHECK(failure_of(add_inside<small_mutex, 3>) == "");
}

TEST_CASE("every order of the lock is needed") {
  CHECK(model::orders_not_needed("small_mutex.hpp", {}, {add_inside<small_mutex, 2>, add_inside<small_mutex, 3>}) ==
        "");
}

TEST_CASE("faults of a lock are found") {
  CHECK(failure_of(add_inside<faulty_mutex<fault::none>, 3>) == "");
  CHECK(failure_of(add_inside<faulty_mutex<fault::wakes_no_thread>, 2>).starts_with("deadlock"));
  CHECK(failure_of(add_inside<faulty_mutex<fault::forgets_sleepers>, 3>).starts_with("deadlock"));
}
