// tests/sync/user_code_model.cpp: under no schedule is code unloaded that a thread is in, or what it did there unseen.
#include <braid/sync/detail/user_code.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/sync/explorations.hpp>

#include <cstdint>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::code_marker;
namespace model = braid::model;

namespace {

/// Marks that a thread makes around its jobs, with a fault to see that the body below finds it.
enum class fault : std::uint8_t { none, enters_late, leaves_early, enters_relaxed };

class faulty_marker {
 public:
  void enter(std::memory_order order) noexcept { number_.store((number_.load(relaxed) + 1) | 1U, order); }
  void leave() noexcept { number_.store((number_.load(relaxed) | 1U) + 1, release); }
  [[nodiscard]] auto look() const noexcept -> std::uint64_t { return number_.load(acquire); }
  [[nodiscard]] auto has_left(std::uint64_t seen) const noexcept -> bool { return seen % 2 == 0 || look() != seen; }

 private:
  atomic<std::uint64_t> number_{0};
};

/// The end of the code of a job is a plain write behind the announcement of its result, as the destructors of captures
/// are. The thread that was told the result waits and then unloads the code: another plain write.
template <typename Marker, typename Run>
void unload(model::run& r, Marker& marker, const Run& run_job) {
  model::shared<int> code{0};
  atomic<bool> is_ready{false};
  r.thread([&] {
    run_job([&] {
      is_ready.store(true, release);
      code = 1;
    });
  });
  r.thread([&] {
    while (!is_ready.load(acquire)) braid::detail::model_yield();
    const std::uint64_t seen = marker.look();
    while (!marker.has_left(seen)) braid::detail::model_yield();
    r.check(code == 1, "the thread has left the code");
    code = 2;
  });
  r.join();
}

/// A thread that leaves after its job, as one of a blocking pool.
void left(model::run& r) {
  code_marker marker;
  unload(r, marker, [&marker](const auto& job) {
    marker.enter();
    job();
    marker.leave();
  });
}

/// A thread that goes on with another job, as a busy worker.
void passed(model::run& r) {
  code_marker marker;
  unload(r, marker, [&marker](const auto& job) {
    marker.enter();
    marker.pass();
    job();
    marker.pass();
    marker.leave();
  });
}

/// A thread that leaves and is back before it was looked at.
void left_and_back(model::run& r) {
  code_marker marker;
  unload(r, marker, [&marker](const auto& job) {
    marker.enter();
    job();
    marker.leave();
    marker.enter();
    marker.leave();
  });
}

template <fault Fault>
void broken(model::run& r) {
  faulty_marker marker;
  unload(r, marker, [&marker](const auto& job) {
    if (Fault != fault::enters_late) marker.enter(release);
    if (Fault == fault::leaves_early) marker.leave();
    job();
    if (Fault == fault::enters_late) marker.enter(release);
    if (Fault != fault::leaves_early) marker.leave();
    if (Fault == fault::enters_relaxed) {
      marker.enter(relaxed);
      marker.leave();
    }
  });
}

}  // namespace

TEST_CASE("code is unloaded after the thread has left it, and all that the thread did there is seen") {
  braid::testing::must_pass(left);
  braid::testing::must_pass(passed);
  braid::testing::must_pass(left_and_back);
}

TEST_CASE("the body finds marks that are made too late, too early, or without an order") {
  const auto fails = [](model::body body) { return !model::explore_all({}, body).failure.empty(); };
  CHECK(!fails(broken<fault::none>));
  CHECK(fails(broken<fault::enters_late>));
  CHECK(fails(broken<fault::leaves_early>));
  CHECK(fails(broken<fault::enters_relaxed>));
}

TEST_CASE("every order of the marker is needed") {
  CHECK(model::orders_not_needed("user_code.hpp", {}, {left, passed, left_and_back}) == "");
}
