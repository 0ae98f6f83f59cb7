// tests/task/future_model.cpp: under no schedule is a result lost, seen half made, taken twice, or destroyed too early.
#include <braid/task/future.hpp>
#include <braid/task/when_all.hpp>

#include <doctest/doctest.h>

#include <tests/support/executor_slots.hpp>
#include <tests/support/model.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::future;
using braid::promise;
using braid::relaxed;
using braid::release;
namespace model = braid::model;

namespace {

/// A value whose every access the explorer orders: making it, looking at it, moving it away and destroying it.
class probe {
 public:
  explicit probe(int number) { number_ = number; }
  probe(probe&& other) noexcept {
    number_ = static_cast<int>(other.number_);
    other.number_ = 0;
  }
  probe(const probe&) = delete;
  auto operator=(const probe&) -> probe& = delete;
  ~probe() { number_ = -1; }
  [[nodiscard]] auto number() const -> int { return number_; }

 private:
  model::shared<int> number_{0};
};

auto number_of(const probe& value) -> int { return value.number(); }

/// An executor whose one job another thread of the run takes.
class handover final : public braid::executor {
 public:
  [[nodiscard]] auto try_post(braid::job& work) noexcept -> bool override {
    job_.store(&work, release);
    there_.store(1, release);
    braid::detail::futex_wake(there_, 1);
    return true;
  }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }

  void run() {
    while (there_.load(acquire) == 0) braid::detail::futex_wait(there_, 0);
    job_.load(acquire)->run();
  }

 private:
  atomic<braid::job*> job_{nullptr};
  atomic<std::uint32_t> there_{0};
};

void set_and_get(model::run& r) {
  promise<probe> source;
  auto value = source.get_future();
  r.thread([&] { r.check(source.set_value(7).has_value(), "it is the first"); });
  r.thread([&] { r.check(value.get().number() == 7, "the value that was set"); });
  r.join();
}

void set_and_link(model::run& r) {
  promise<probe> source;
  auto value = source.get_future();
  r.thread([&] { static_cast<void>(source.set_value(7)); });
  r.thread([&] {
    auto after = std::move(value).then([](probe taken) { return probe(taken.number() + 1); });
    r.check(after.get().number() == 8, "the value after");
  });
  r.join();
}

void set_and_drop(model::run& r) {
  promise<probe> source;
  auto value = source.get_future();
  r.thread([&] { static_cast<void>(source.set_value(7)); });
  r.thread([&] { value.detach(); });
  r.join();
}

void break_and_link(model::run& r) {
  auto source = std::make_unique<promise<probe>>();
  auto value = source->get_future();
  bool failed = false;
  r.thread([&] { source.reset(); });
  r.thread([&] {
    auto looked = value.then([](const probe& seen) { return seen.number(); });
    auto after = std::move(value).recover([&](std::exception_ptr) {
      failed = true;
      return probe(1);
    });
    after.wait();
    looked.wait();
    r.check(failed && after.get().number() == 1, "the handler stood in");
  });
  r.join();
}

void set_and_wait(model::run& r) {
  promise<probe> source;
  auto value = source.get_future();
  r.thread([&] { static_cast<void>(source.set_value(7)); });
  r.thread([&] {
    const bool ready = value.wait_until(braid::time_point());
    r.check(!ready || value.is_ready(), "what was waited for is ready");
    r.check(value.get().number() == 7, "the value that was set");
  });
  r.join();
}

/// One continuation looks at the value on a thread of its own, and another takes it away.
void look_and_take(model::run& r) {
  handover elsewhere;
  promise<probe> source;
  auto value = source.get_future();
  auto looked = value.then(elsewhere, number_of);
  int taken = 0;
  r.thread([&] { static_cast<void>(source.set_value(7)); });
  r.thread([&] { std::move(value).then([&](probe last) { taken = last.number(); }).detach(); });
  r.thread([&] { elsewhere.run(); });
  r.join();
  r.check(taken == 7, "it was taken whole");
  r.check(looked.is_ready(), "and looked at");
  r.check(looked.get() == 7, "before");
}

/// The same with a thread that blocks until it may take the value.
void look_and_get(model::run& r) {
  handover elsewhere;
  promise<probe> source;
  auto value = source.get_future();
  auto looked = value.then(elsewhere, number_of);
  r.thread([&] { static_cast<void>(source.set_value(7)); });
  r.thread([&] { r.check(value.get().number() == 7, "it was taken whole"); });
  r.thread([&] { elsewhere.run(); });
  r.join();
  r.check(looked.get() == 7, "it was looked at before");
}

void share(model::run& r) {
  promise<probe> source;
  auto first = source.get_future().share();
  auto second = first;
  r.thread([&] { static_cast<void>(source.set_value(7)); });
  r.thread([&] {
    r.check(first.get().number() == 7, "the first owner sees it");
    first.detach();
  });
  r.thread([&] {
    second.wait();
    auto looked = second.then(number_of);
    second.detach();
    r.check(looked.get() == 7, "the second owner sees it");
  });
  r.join();
}

void all(model::run& r) {
  promise<probe> first;
  promise<probe> second;
  auto both = braid::when_all(first.get_future(), second.get_future());
  r.thread([&] { static_cast<void>(first.set_value(1)); });
  r.thread([&] { static_cast<void>(second.set_value(2)); });
  r.join();
  r.check(both.is_ready(), "both are there");
  const auto [one, two] = both.get();
  r.check(one.number() + two.number() == 3, "and whole");
}

/// The futures are gathered while they are fulfilled.
void all_meanwhile(model::run& r) {
  promise<probe> first;
  promise<probe> second;
  auto one = first.get_future();
  auto two = second.get_future();
  r.thread([&] { static_cast<void>(first.set_value(1)); });
  r.thread([&] { static_cast<void>(second.set_value(2)); });
  r.thread([&] {
    auto both = braid::when_all(std::move(one), std::move(two));
    const auto [a, b] = both.get();
    r.check(a.number() + b.number() == 3, "both are there and whole");
  });
  r.join();
}

void any(model::run& r) {
  promise<probe> first;
  promise<probe> second;
  auto either = braid::when_any(first.get_future(), second.get_future());
  r.thread([&] { static_cast<void>(first.set_value(1)); });
  r.thread([&] { static_cast<void>(second.set_value(2)); });
  r.thread([&] {
    const auto won = either.get();
    const int number = won.index == 0 ? std::get<0>(won.value).number() : std::get<1>(won.value).number();
    r.check(number == static_cast<int>(won.index) + 1, "the winner's value");
  });
  r.join();
}

/// What is thrown, with accesses that the explorer orders.
struct fault {
  explicit fault(int n) { number = n; }
  fault(const fault& other) { number = static_cast<int>(other.number); }
  auto operator=(const fault&) -> fault& = delete;
  ~fault() = default;
  model::shared<int> number{0};
};

auto fault_number(const std::exception_ptr& what) -> int {
  try {
    std::rethrow_exception(what);
  } catch (const fault& thrown) {
    return thrown.number;
  }
}

void any_fails(model::run& r) {
  promise<probe> first;
  promise<probe> second;
  int seen = 0;
  auto either = braid::when_any(first.get_future(), second.get_future());
  auto after =
      std::move(either).then([](auto&&) {}).recover([&](std::exception_ptr what) { seen = fault_number(what); });
  r.thread([&] { static_cast<void>(first.set_exception(std::make_exception_ptr(fault(1)))); });
  r.thread([&] { static_cast<void>(second.set_exception(std::make_exception_ptr(fault(2)))); });
  r.join();
  r.check(after.is_ready() && seen == 1, "it failed like the first by position");
}

/// The last input fails after another one has won.
void any_late_failure(model::run& r) {
  promise<probe> first;
  promise<probe> second;
  auto either = braid::when_any(first.get_future(), second.get_future());
  const auto failure = std::make_exception_ptr(1);
  r.thread([&] { static_cast<void>(first.set_value(1)); });
  r.thread([&] { static_cast<void>(second.set_exception(failure)); });
  r.join();
  r.check(either.is_ready(), "there is a winner");
  r.check(either.get().index == 0, "which is the one with a value");
}

const std::vector<model::body> pairs = {set_and_get, set_and_link, set_and_drop, break_and_link, set_and_wait};
const std::vector<model::body> more = {look_and_take, look_and_get, share,     all,
                                       all_meanwhile, any,          any_fails, any_late_failure};

}  // namespace

TEST_CASE("one thread fulfils or breaks, the other waits, goes on, or leaves: under every schedule within the bounds") {
  for (const auto body : pairs) {
    const model::report all = model::explore_all({.preemptions = 3}, body);
    CHECK(all.failure == "");
    CHECK(all.complete);
  }
}

TEST_CASE("several continuations, owners and inputs: under every schedule within the bounds") {
  for (const auto body : more) {
    const model::report all = model::explore_all({}, body);
    CHECK(all.failure == "");
    CHECK(all.complete);
  }
}

TEST_CASE("the same under random schedules") {
  for (const auto& bodies : {pairs, more})
    for (const auto body : bodies)
      CHECK(model::explore({.seeds = 10'000, .preemptions = 6, .surprises = 4}, body).failure == "");
}

TEST_CASE("every order is needed, but for one that only guards memory") {
  std::vector<model::body> bodies = pairs;
  bodies.insert(bodies.end(), more.begin(), more.end());
  CHECK(model::orders_not_needed("future_core.hpp", {}, bodies) == "");
  CHECK(model::orders_not_needed("future.cpp", {}, bodies) == "");
  const std::string not_needed =
      model::orders_not_needed("when_all.hpp", {}, {all, all_meanwhile, any, any_fails, any_late_failure});
  // `let_go`, which orders the end of the result before the end of its memory: no access that the explorer sees.
  CHECK_MESSAGE(std::count(not_needed.begin(), not_needed.end(), ' ') == 1, not_needed);
}
