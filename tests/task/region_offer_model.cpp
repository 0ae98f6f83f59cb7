// tests/task/region_offer_model.cpp: under no schedule is an offer taken that was withdrawn, or left without an end.
#include <braid/task/detail/region_offer.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

using braid::detail::region_offer;
namespace model = braid::model;

namespace {

struct scene {
  model::shared<int> written{0};
  bool withdrawn = false;
  bool helped = false;
  braid::atomic<std::int32_t> queued{0};
  region_offer* offer = new region_offer(
      [](void* of) {
        auto& mine = *static_cast<scene*>(of);
        mine.written = 1;
        mine.helped = true;
        throw 7;
      },
      this, queued);
};

/// What its poster does in the end. Whether it was withdrawn.
void close(model::run& r, scene& on) {
  on.withdrawn = on.offer->try_withdraw();
  if (on.withdrawn) return;
  on.offer->ended().wait();
  const int written = on.written;
  const bool failed = on.offer->take_failure() != nullptr;
  r.check(failed == (written == 1), "what the worker did and threw is seen");
}

void is_run(model::run& r) {
  scene on;
  r.thread([&] { close(r, on); });
  r.thread([&] { on.offer->run(); });
  r.join();
  r.check(on.withdrawn != on.helped, "it is withdrawn, or helps");
  r.check(on.queued.load(braid::relaxed) == 0, "it is in no queue any more");
}

void is_dropped(model::run& r) {
  scene on;
  r.thread([&] { close(r, on); });
  r.thread([&] { on.offer->drop(); });
  r.join();
  r.check(!on.helped, "what is dropped does not help");
}

void holds(model::body body) {
  CHECK(model::explore({.seeds = 1'000, .preemptions = 6, .surprises = 4}, body).failure == "");
  const model::report all = model::explore_all({.preemptions = 3, .surprises = 1}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

}  // namespace

TEST_CASE("an offer is withdrawn or helps, and its end is seen") { holds(is_run); }

TEST_CASE("an offer that is dropped ends, too") { holds(is_dropped); }
