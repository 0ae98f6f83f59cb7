// tests/sync/split_deque_model.cpp: under no schedule is an entry of a split deque lost, taken twice or seen
// unfinished.
#include <braid/sync/detail/split_deque.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/sync/faulty_split_deque.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using braid::relaxed;
using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;
using braid::detail::split_deque;
using braid::testing::fault;
using braid::testing::faulty;
namespace model = braid::model;

namespace {

struct item {
  model::shared<int> payload{0};
  int pushed = 0;  // these two are outside of the model: threads of a run take turns
  int taken = 0;
};

/// The taker owns an item alone.
void take(model::run& r, item* taken) {
  if (taken == nullptr) return;
  r.check(++taken->taken <= taken->pushed, "an entry is taken once");
  r.check(taken->payload == 1, "an entry brings what was written before its push");
  taken->payload = 2;  // a race, if somebody else holds it too
}

template <typename Deque>
void push(model::run& r, Deque& deque, item& pushed) {
  pushed.payload = 1;
  ++pushed.pushed;
  r.check(deque.try_push(pushed), "there is room");
}

/// What is left is taken by the body, which by then is alone.
template <typename Deque, std::size_t Count>
void take_the_rest(model::run& r, Deque& deque, const std::array<item, Count>& items) {
  while (item* const left = deque.pop()) take(r, left);
  for (const item& each : items) r.check(each.taken == each.pushed, "no entry is lost");
}

/// Everything is shared; the owner takes it back while a thief steals.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void retract_and_steal(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 2> items;
  r.thread([&] {
    for (item& each : items) push(r, deque, each);
    deque.share();
    deque.share();
    for (int i = 0; i < 2; ++i) take(r, deque.pop());
  });
  r.thread([&] {
    for (int i = 0; i < 2; ++i) take(r, deque.steal());
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// Two thieves and an owner want the same entry.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void one_for_three(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(1, barrier);
  std::array<item, 1> items;
  r.thread([&] {
    push(r, deque, items[0]);
    deque.share();
    take(r, deque.pop());
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { take(r, deque.steal()); });
  r.join();
  take_the_rest(r, deque, items);
}

/// A slot is taken back, filled with another entry, and shared as it was before.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void slot_filled_anew(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 2> items;
  r.thread([&] {
    for (item& each : items) {
      push(r, deque, each);
      deque.share();
      take(r, deque.pop());
    }
  });
  r.thread([&] { take(r, deque.steal()); });
  r.join();
  take_the_rest(r, deque, items);
}

/// The owner fills the ring, and fills slots again that thieves have emptied.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void ring_goes_round(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(1, barrier);
  std::array<item, 2> items;
  r.thread([&] {
    for (item& each : items) {
      each.payload = 1;
      if (!deque.try_push(each)) continue;
      ++each.pushed;
      deque.share();
    }
  });
  r.thread([&] {
    for (int i = 0; i < 2; ++i) take(r, deque.steal());
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// A thief steals twice, the second time what was shared after it looked first.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void shared_one_by_one(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 2> items;
  r.thread([&] {
    for (item& each : items) {
      push(r, deque, each);
      deque.share();
    }
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { take(r, deque.steal()); });
  r.join();
  take_the_rest(r, deque, items);
}

/// An owner pushes and pops until its entry has gone to a thief that asked.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void asking(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 1> items;
  r.thread([&] {
    for (item* back = items.data(); back != nullptr; take(r, back)) {
      push(r, deque, items[0]);
      r.yield();
      back = deque.pop();
    }
  });
  r.thread([&] {
    item* stolen = nullptr;
    while ((stolen = deque.steal()) == nullptr) r.yield();
    take(r, stolen);
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// The owner does not answer and a thief takes, while the owner pops what it has pushed.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void take_beside_pops(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 2> items;
  r.thread([&] {
    for (item& each : items) push(r, deque, each);
    for (int i = 0; i < 2; ++i) take(r, deque.pop());
  });
  r.thread([&] {
    take(r, deque.steal());
    for (int i = 0; i < 2; ++i) take(r, deque.take());
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// A question stands and the owner is about to share and pop, while a thief takes and steals.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void take_beside_a_share(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 2> items;
  push(r, deque, items[0]);
  deque.ask();
  r.thread([&] {
    push(r, deque, items[1]);
    for (int i = 0; i < 2; ++i) take(r, deque.pop());
  });
  r.thread([&] {
    take(r, deque.take());
    take(r, deque.steal());
    take(r, deque.take());
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// Two thieves take from an owner that takes back what the first one has shared.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void two_takes(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(4, barrier);
  std::array<item, 3> items;
  for (item& each : items) push(r, deque, each);
  deque.ask();
  r.thread([&] {
    for (int i = 0; i < 3; ++i) take(r, deque.pop());
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { take(r, deque.take()); });
  r.join();
  take_the_rest(r, deque, items);
}

/// Everything is shared; the owner takes it back while a thief asks and takes.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void take_beside_a_retraction(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(4, barrier);
  std::array<item, 3> items;
  for (item& each : items) push(r, deque, each);
  for (int i = 0; i < 2; ++i) deque.share();
  r.thread([&] {
    for (int i = 0; i < 2; ++i) take(r, deque.pop());
  });
  r.thread([&] {
    deque.ask();
    take(r, deque.take());
    take(r, deque.steal());
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// What one thief takes and shares another one steals.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void take_for_another(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(4, barrier);
  std::array<item, 3> items;
  deque.ask();
  r.thread([&] {
    for (item& each : items) {
      each.payload = 1;
      ++each.pushed;
      r.check(deque.try_push_privately(each), "there is room");
    }
  });
  r.thread([&] { take(r, deque.take()); });
  r.thread([&] { take(r, deque.steal()); });
  r.join();
  take_the_rest(r, deque, items);
}

/// A slot is popped and filled with another entry while a thief takes.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void take_of_a_slot_filled_anew(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(1, barrier);
  std::array<item, 2> items;
  r.thread([&] {
    for (item& each : items) {
      push(r, deque, each);
      take(r, deque.pop());
    }
  });
  r.thread([&] {
    deque.ask();
    take(r, deque.take());
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// The owner changes something that a thief changes as well, when it has taken an entry.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void pinned(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 1> items;
  model::shared<int> both{0};
  push(r, deque, items[0]);
  r.thread([&] {
    if (!deque.try_pin()) return;
    both = both + 1;
    deque.unpin();
  });
  r.thread([&] {
    deque.ask();
    item* const taken = deque.take();
    if (taken == nullptr) return;
    both = both + 1;
    take(r, taken);
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// A thread that asks, crosses the barrier and looks once more sees what the owner has pushed; or the owner sees the
/// question.
template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
void no_entry_beside_a_question(model::run& r) {
  asymmetric_barrier barrier(Kind);
  Deque<item> deque(2, barrier);
  std::array<item, 2> items;
  bool is_seen = false;
  bool is_asked = false;
  push(r, deque, items[0]);
  static_cast<void>(deque.pop());
  items[0].taken = items[0].pushed;
  r.thread([&] {
    items[1].payload = 1;
    ++items[1].pushed;
    r.check(deque.try_push_privately(items[1]), "there is room");
    is_asked = deque.is_asked();
  });
  r.thread([&] {
    deque.ask();
    barrier.heavy();
    is_seen = deque.is_held_back();
  });
  r.join();
  r.check(is_seen || is_asked, "no entry lies unseen beside a question unseen");
  take_the_rest(r, deque, items);
}

/// The ring grows while a thief is at it.
template <barrier_kind Kind>
void ring_grows(model::run& r) {
  asymmetric_barrier barrier(Kind);
  split_deque<item> deque(1, barrier, 2);
  std::array<item, 2> items;
  r.thread([&] {
    push(r, deque, items[0]);
    deque.share();
    push(r, deque, items[1]);
    deque.share();
    take(r, deque.pop());
  });
  r.thread([&] {
    for (int i = 0; i < 2; ++i) take(r, deque.steal());
    take(r, deque.take());
  });
  r.join();
  take_the_rest(r, deque, items);
}

/// What a thief did before it asked is seen by the owner that answers, though another one asked after it.
template <barrier_kind Kind>
void answering(model::run& r) {
  asymmetric_barrier barrier(Kind);
  split_deque<item> deque(2, barrier);
  std::array<item, 1> items;
  model::shared<int> told{0};
  bool asked = false;  // outside of the model
  r.thread([&] {
    told = 1;
    deque.ask();
    asked = true;
  });
  r.thread([&] { take(r, deque.steal()); });
  r.thread([&] {
    items[0].payload = 1;
    ++items[0].pushed;
    r.check(deque.try_push_privately(items[0]), "there is room");
    const bool before = asked;
    if (!deque.is_asked()) return;
    deque.share();
    if (before) r.check(told == 1, "an answer sees what was done before the question");
  });
  r.join();
  take_the_rest(r, deque, items);
}

template <template <typename> typename Deque, barrier_kind Kind = barrier_kind::asymmetric>
constexpr std::array bodies_of{retract_and_steal<Deque, Kind>,
                               one_for_three<Deque, Kind>,
                               slot_filled_anew<Deque, Kind>,
                               ring_goes_round<Deque, Kind>,
                               shared_one_by_one<Deque, Kind>,
                               asking<Deque, Kind>,
                               take_beside_pops<Deque, Kind>,
                               take_beside_a_share<Deque, Kind>,
                               two_takes<Deque, Kind>,
                               take_beside_a_retraction<Deque, Kind>,
                               take_for_another<Deque, Kind>,
                               take_of_a_slot_filled_anew<Deque, Kind>,
                               pinned<Deque, Kind>};

template <barrier_kind Kind>
auto every_body() -> std::vector<model::body> {
  std::vector<model::body> all(bodies_of<split_deque, Kind>.begin(), bodies_of<split_deque, Kind>.end());
  all.push_back(ring_grows<Kind>);
  all.push_back(answering<Kind>);
  all.push_back(no_entry_beside_a_question<split_deque, Kind>);
  return all;
}

/// How each body ends with a deque that has this fault; those that pass are left out.
template <fault Fault>
auto failures() -> std::string {
  std::string all;
  for (const auto body : bodies_of<faulty<Fault>::template deque>) {
    const std::string failure = model::explore_all({.steps = 300}, body).failure;
    if (!failure.empty()) all += failure.substr(0, failure.find('\n')) + "\n";
  }
  return all;
}

template <barrier_kind Kind>
void check_all() {
  for (const auto body : every_body<Kind>()) {
    const model::report all = model::explore_all({}, body);
    CHECK(all.failure == "");
    CHECK(all.complete);
    CHECK(model::explore({.seeds = 5'000, .preemptions = 6, .surprises = 4}, body).failure == "");
  }
}

}  // namespace

TEST_CASE("every entry is taken once, with what was written before its push") { check_all<barrier_kind::asymmetric>(); }

TEST_CASE("every entry is taken once, where barriers are symmetric") { check_all<barrier_kind::symmetric>(); }

TEST_CASE("the orders of the split deque are needed, but for one edge") {
  std::vector<model::body> all = every_body<barrier_kind::asymmetric>();
  all.push_back(take_beside_pops<split_deque, barrier_kind::symmetric>);
  all.push_back(no_entry_beside_a_question<split_deque, barrier_kind::symmetric>);
  const std::string not_needed = model::orders_not_needed("split_deque.hpp", {}, all);
  // The observing ends of split_deque.taken: they keep a thief's read of a slot from giving what the owner writes there
  // after the theft. Loads of a run do not see the future, so here nothing can go wrong.
  CHECK_MESSAGE(std::count(not_needed.begin(), not_needed.end(), ' ') == 2, not_needed);
}

TEST_CASE("faults of a split deque are found") {
  const std::string twice = "check failed: an entry is taken once";
  CHECK(failures<fault::none>() == "");
  CHECK(failures<fault::no_tag>().contains(twice));
  CHECK(failures<fault::shares_relaxed>().contains("data race"));
  CHECK(failures<fault::retracts_by_a_store>().contains(twice));
  CHECK(failures<fault::pops_what_is_shared>().contains(twice));
  CHECK(failures<fault::reads_the_slot_late>().contains("data race"));
  CHECK(failures<fault::steals_by_a_store>().contains(twice));
  CHECK(failures<fault::pushes_over_a_full_ring>().contains(twice));
  CHECK(failures<fault::ignores_the_question>().contains("no end"));
  CHECK(failures<fault::shares_less_than_one>().contains("no end"));
}

TEST_CASE("faults of a deque from which thieves take are found") {
  const std::string twice = "check failed: an entry is taken once";
  CHECK(failures<fault::takes_without_a_barrier>().contains(twice));
  CHECK(failures<fault::takes_without_a_question>().contains(twice));
  CHECK(failures<fault::looks_at_the_limit_first>().contains(twice));
  CHECK(failures<fault::lowers_the_limit_late>().contains(twice));
  CHECK(failures<fault::lowers_the_limit_over_a_question>().contains(twice));
  CHECK(failures<fault::pops_without_a_tag>().contains(twice));
  CHECK(failures<fault::takes_what_is_pinned>().contains("data race"));
}
