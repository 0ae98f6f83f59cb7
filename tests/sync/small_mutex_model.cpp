// tests/sync/small_mutex_model.cpp: under no schedule are two threads inside, does one miss what another did there, or
// does one wait for ever.
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/small_mutex.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <mutex>
#include <string>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::let_others_run;
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

enum class fault { none, looks_before_it_takes, stays_held };

/// The lock with a fault, to see that the body above finds it.
template <fault Fault>
class faulty_mutex {
 public:
  void lock() {
    while (!try_lock()) let_others_run();
  }
  void unlock() { held_.store(Fault == fault::stays_held, release); }

 private:
  auto try_lock() -> bool {
    if (Fault != fault::looks_before_it_takes) return !held_.exchange(true, acquire);
    if (held_.load(acquire)) return false;
    held_.store(true, relaxed);
    return true;
  }

  atomic<bool> held_{false};
};

/// By seeds: two threads that poll could go on for ever while the third does not run.
auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore({}, body).failure; }

}  // namespace

TEST_CASE("two and three threads are inside one after the other, and none waits for ever") {
  const model::report two = model::explore_all({.preemptions = 3}, add_inside<small_mutex, 2>);
  CHECK(two.failure == "");
  CHECK(two.complete);
  CHECK(failure_of(add_inside<small_mutex, 3>) == "");
}

TEST_CASE("every order of the lock is needed") {
  CHECK(model::orders_not_needed("small_mutex.hpp", {}, {add_inside<small_mutex, 2>}) == "");
}

TEST_CASE("faults of a lock are found") {
  CHECK(failure_of(add_inside<faulty_mutex<fault::none>, 3>) == "");
  CHECK(failure_of(add_inside<faulty_mutex<fault::looks_before_it_takes>, 2>) != "");
  CHECK(failure_of(add_inside<faulty_mutex<fault::stays_held>, 2>) != "");
}
