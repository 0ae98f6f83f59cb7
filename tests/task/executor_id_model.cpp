// tests/task/executor_id_model.cpp: under no schedule is an executor used by its id once it has gone.
#include <braid/task/detail/executor_id.hpp>

#include <braid/sync/detail/let_others_run.hpp>

#include <doctest/doctest.h>

#include <tests/support/manual_executor.hpp>
#include <tests/support/model.hpp>

#include <cstdint>
#include <vector>

using braid::detail::executor_slot;
using braid::testing::manual_executor;
namespace model = braid::model;

namespace {

/// An executor, as far as the slot knows it, with something that only its memory holds.
struct owner {
  /// What `executor::retire` does.
  void end() {
    slot.close();
    while (slot.users() != 0) braid::detail::let_others_run();
    content = 0;  // a race with any thread that still reads it
  }

  executor_slot& slot;
  manual_executor self{};
  model::shared<int> content{7};
  std::uint32_t generation = slot.open(self);
};

void use(model::run& r, owner& of) {
  if (of.slot.try_enter(of.generation) == nullptr) return;
  r.check(of.content == 7, "what is used is whole");
  of.slot.leave();
}

void use_and_end(model::run& r) {
  executor_slot slot;
  owner mine{.slot = slot};
  r.thread([&] { use(r, mine); });
  r.thread([&] { use(r, mine); });
  r.thread([&] { mine.end(); });
  r.join();
}

/// The thread that ends the executor sees what the user did inside.
void write_and_end(model::run& r) {
  executor_slot slot;
  owner mine{.slot = slot};
  r.thread([&] {
    if (mine.slot.try_enter(mine.generation) == nullptr) return;
    mine.content = 8;
    mine.slot.leave();
  });
  r.thread([&] { mine.end(); });
  r.join();
}

/// An old handle meets the next executor of the slot.
void end_and_open_again(model::run& r) {
  executor_slot slot;
  owner first{.slot = slot};
  model::shared<int> made{0};
  manual_executor second;
  std::uint32_t next = 0;
  braid::atomic<std::uint32_t> told{0};
  r.thread([&] {
    use(r, first);
    const std::uint32_t generation = told.load(braid::relaxed);  // no edge: the slot's own must do
    if (generation == 0) return;
    if (const auto* const found = slot.try_enter(generation); found != nullptr) {
      r.check(found == &second, "the one that the handle names");
      r.check(made == 1, "and whole");
      slot.leave();
    }
  });
  r.thread([&] {
    first.end();
    made = 1;
    next = slot.open(second);
    told.store(next, braid::relaxed);
  });
  r.join();
  r.check(next != first.generation, "generations differ");
  r.check(slot.users() == 0, "nobody is left inside");
}

constexpr model::options bounds{.preemptions = 2, .surprises = 1};
const std::vector<model::body> bodies{use_and_end, write_and_end, end_and_open_again};

void check_all(model::body body) {
  const model::report all = model::explore_all(bounds, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

}  // namespace

TEST_CASE("nobody uses an executor after its end") { check_all(use_and_end); }
TEST_CASE("the end of an executor sees what its users did") { check_all(write_and_end); }
TEST_CASE("an old handle finds nothing, and a new one the executor that it names") { check_all(end_and_open_again); }

TEST_CASE("every order of a slot is needed") {
  CHECK(model::orders_not_needed("executor_id.hpp", bounds, bodies) == "");
}
