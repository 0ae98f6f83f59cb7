// tests/sync/asymmetric_barrier_model.cpp: a light and a heavy side see each other; nothing less makes them.
#include <braid/sync/detail/asymmetric_barrier.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/sync/explorations.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;
using braid::testing::must_fail;
using braid::testing::must_pass;
namespace model = braid::model;

namespace {

enum class side : std::uint8_t { none, light, heavy };

void cross(asymmetric_barrier& barrier, side by) {
  if (by == side::light) barrier.light();
  if (by == side::heavy) barrier.heavy();
}

/// Each thread raises its flag, crosses its side of the barrier, and looks at the other's flag.
auto flags(side first, side second, barrier_kind kind = barrier_kind::asymmetric) {
  return [=](model::run& r) {
    asymmetric_barrier barrier(kind);
    std::array<atomic<int>, 2> raised{};
    std::array<bool, 2> alone{};
    for (std::size_t me : {0U, 1U})
      r.thread([&, me] {
        raised[me].store(1, relaxed);
        cross(barrier, me == 0 ? first : second);
        alone[me] = raised[1 - me].load(relaxed) == 0;
      });
    r.join();
    r.check(!(alone[0] && alone[1]), "one sees the other");
  };
}

/// The heavy side tells a third thread, which looks in its place.
auto flags_with_messenger(std::memory_order tell, std::memory_order listen) {
  return [=](model::run& r) {
    asymmetric_barrier barrier;
    std::array<atomic<int>, 2> raised{};
    atomic<bool> told{false};
    bool light_alone = false;
    bool messenger_alone = false;
    r.thread([&] {
      raised[0].store(1, relaxed);
      barrier.light();
      light_alone = raised[1].load(relaxed) == 0;
    });
    r.thread([&] {
      raised[1].store(1, relaxed);
      barrier.heavy();
      told.store(true, tell);
    });
    r.thread([&] { messenger_alone = told.load(listen) && raised[0].load(relaxed) == 0; });
    r.join();
    r.check(!(light_alone && messenger_alone), "one sees the other");
  };
}

/// A plain value whose reader relies on the barrier alone.
void plain_value(model::run& r) {
  asymmetric_barrier barrier;
  model::shared<int> value{0};
  atomic<bool> written{false};
  r.thread([&] {
    value = 1;
    written.store(true, relaxed);
    barrier.light();
  });
  r.thread([&] {
    barrier.heavy();
    if (written.load(relaxed)) static_cast<void>(value == 1);
  });
  r.join();
}

void light_and_heavy(model::run& r) { flags(side::light, side::heavy)(r); }
void symmetric_pair(model::run& r) { flags(side::light, side::heavy, barrier_kind::symmetric)(r); }

}  // namespace

TEST_CASE("a light and a heavy side see each other") {
  must_pass(flags(side::light, side::heavy));
  must_pass(flags(side::heavy, side::heavy));
}

TEST_CASE("two light sides do not, nor does a side without a barrier") {
  for (const side first : {side::none, side::light}) {
    must_fail(flags(first, side::light), "one sees the other");
    must_fail(flags(first, side::none), "one sees the other");
  }
  must_fail(flags(side::none, side::heavy), "one sees the other");
}

TEST_CASE("what the heavy side has ordered is passed on by an edge, and by nothing weaker") {
  must_pass(flags_with_messenger(release, acquire));
  must_fail(flags_with_messenger(relaxed, acquire), "one sees the other");
  must_fail(flags_with_messenger(release, relaxed), "one sees the other");
}

TEST_CASE("the barrier orders no plain data") { must_fail(plain_value, "data race"); }

TEST_CASE("any two sides of a symmetric barrier see each other") {
  for (const side second : {side::light, side::heavy}) must_pass(flags(side::light, second, barrier_kind::symmetric));
  must_fail(flags(side::light, side::none, barrier_kind::symmetric), "one sees the other");
}

TEST_CASE("both sides and every order of the barrier are needed") {
  CHECK(model::orders_not_needed("asymmetric_barrier.hpp", {}, {symmetric_pair}) == "");
  CHECK(model::orders_not_needed("asymmetric_barrier_model.cpp", {}, {light_and_heavy}) == "");
}

TEST_CASE("the steps of a failure name the barriers") {
  const model::report report = model::explore_all({}, flags(side::light, side::light));
  CHECK(braid::testing::says(report, "thread 1: light barrier, asymmetric_barrier_model.cpp:"));
}
