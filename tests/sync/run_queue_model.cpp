// tests/sync/run_queue_model.cpp: under no schedule does a run queue lose, double or hide an element.
#include <braid/sync/detail/run_queue.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::steal_ring;
namespace model = braid::model;

namespace {

struct item {
  int number = 0;
  model::shared<int> payload{0};
  model::shared<item*> next{nullptr};
};

/// For each element how often it was taken. A thread has its own; they are added up after the join.
template <std::size_t Count>
struct ledger {
  void take(model::run& r, item* taken) {
    if (taken == nullptr) return;
    r.check(taken->payload == 1, "an element brings what was written before its push");
    ++times[static_cast<std::size_t>(taken->number)];
  }
  std::array<int, Count> times{};
};

template <std::size_t Count>
struct items {
  items() {
    for (std::size_t i = 0; i < Count; ++i) all[i].number = static_cast<int>(i);
  }
  auto ready(std::size_t i) -> item& {
    all[i].payload = 1;
    return all[i];
  }
  std::array<item, Count> all;
};

template <std::size_t Count>
void once_each(model::run& r, std::span<const ledger<Count>> ledgers) {
  for (std::size_t i = 0; i < Count; ++i) {
    int times = 0;
    for (const auto& one : ledgers) times += one.times[i];
    r.check(times == 1, "each element is taken once");
  }
}

// --- the ring --------------------------------------------------------------------------------------------------------

/// The owner fills a ring of two beyond its end and takes; two thieves take halves.
template <typename Ring>
void ring_and_thieves(model::run& r) {
  Ring ring;
  items<4> given;
  std::array<ledger<4>, 3> taken;
  const auto steal = [&](ledger<4>& mine) {
    std::array<item*, 1> out{};
    if (ring.take_half(out) == 1) mine.take(r, out[0]);
  };
  r.thread([&] {
    for (std::size_t i = 0; i < 4; ++i) {
      item& one = given.ready(i);
      while (!ring.try_push(one)) taken[0].take(r, ring.pop());
    }
  });
  for (std::size_t thief : {1U, 2U}) r.thread([&, thief] { steal(taken[thief]); });
  r.join();
  while (item* left = ring.pop()) taken[0].take(r, left);
  once_each<4>(r, taken);
}

/// A thief takes two at once from a ring of four, whose owner pops meanwhile.
template <typename Ring>
void half_at_once(model::run& r) {
  Ring ring;
  items<4> given;
  std::array<ledger<4>, 2> taken;
  for (std::size_t i = 0; i < 4; ++i) r.check(ring.try_push(given.ready(i)), "there is room for four");
  r.thread([&] {
    taken[0].take(r, ring.pop());
    taken[0].take(r, ring.pop());
  });
  r.thread([&] {
    std::array<item*, 2> out{};
    const std::size_t count = ring.take_half(out);
    for (std::size_t i = 0; i < count; ++i) taken[1].take(r, out[i]);
  });
  r.join();
  while (item* left = ring.pop()) taken[0].take(r, left);
  once_each<4>(r, taken);
}

enum class fault : std::uint8_t { none, pops_blindly, takes_blindly, announces_early, never_full, keeps_old_slots };

/// A ring with a fault.
template <fault Fault, std::size_t Capacity>
class faulty_ring {
 public:
  auto try_push(item& element) -> bool {
    const std::uint64_t tail = tail_.load(relaxed);
    if (tail - head_.load(acquire) == Capacity && Fault != fault::never_full) return false;
    if (Fault == fault::announces_early) tail_.store(tail + 1, release);
    slot(tail).store(&element, relaxed);
    if (Fault != fault::announces_early) tail_.store(tail + 1, release);
    return true;
  }

  auto pop() -> item* {
    std::uint64_t head = head_.load(relaxed);
    while (head != tail_.load(relaxed)) {
      item* oldest = slot(head).load(relaxed);
      if (Fault == fault::pops_blindly) {
        head_.store(head + 1, release);
        return oldest;
      }
      if (head_.compare_exchange_weak(head, head + 1, relaxed, relaxed)) return oldest;
    }
    return nullptr;
  }

  auto take_half(std::span<item*> out) -> std::size_t {
    std::uint64_t head = head_.load(relaxed);
    for (;;) {
      const std::uint64_t tail = tail_.load(acquire);
      if (tail <= head) return 0;
      const std::size_t count = std::min<std::size_t>((tail - head + 1) / 2, out.size());
      for (std::size_t i = 0; i < count; ++i) out[i] = slot(head + i).load(relaxed);
      if (Fault == fault::takes_blindly) {
        head_.fetch_add(count, release);
        return count;
      }
      const std::uint64_t seen = head;
      if (head_.compare_exchange_strong(head, head + count, release, relaxed)) return count;
      if (Fault == fault::keeps_old_slots && head_.compare_exchange_strong(head, head + count, release, relaxed))
        return head == seen ? 0 : count;
    }
  }

 private:
  auto slot(std::uint64_t number) -> atomic<item*>& { return slots_[number % Capacity]; }

  atomic<std::uint64_t> head_{0};
  atomic<std::uint64_t> tail_{0};
  std::array<atomic<item*>, Capacity> slots_{};
};

// --- the queue -------------------------------------------------------------------------------------------------------

template <typename Lock = model::mutex>
using small_queue = braid::detail::run_queue<item, 2, Lock>;

/// Does not lock: what the list is then worth.
struct no_lock {
  void lock() {}
  void unlock() {}
};

/// Five elements go through rings of two, and so through the list; a thief takes twice.
template <typename Lock>
void list_and_thief(model::run& r) {
  small_queue<Lock> queue;
  small_queue<Lock> stolen;
  items<5> given;
  std::array<ledger<5>, 2> taken;
  for (std::size_t i = 0; i < 4; ++i) queue.push(given.ready(i));
  r.thread([&] {
    taken[0].take(r, queue.pop());
    queue.push(given.ready(4));
    taken[0].take(r, queue.pop());
  });
  r.thread([&] {
    for (int i = 0; i < 2; ++i) taken[1].take(r, stolen.steal_half_from(queue));
  });
  r.join();
  while (item* left = queue.pop()) taken[0].take(r, left);
  while (item* left = stolen.pop()) taken[0].take(r, left);
  once_each<5>(r, taken);
}

/// What was stolen is stolen again.
void thief_of_thief(model::run& r) {
  using queue_of_four = braid::detail::run_queue<item, 4, model::mutex>;
  queue_of_four first;
  queue_of_four second;
  queue_of_four third;
  items<4> given;
  std::array<ledger<4>, 3> taken;
  r.thread([&] {
    for (std::size_t i = 0; i < 4; ++i) first.push(given.ready(i));
    taken[0].take(r, first.pop());
  });
  r.thread([&] { taken[1].take(r, second.steal_half_from(first)); });
  r.thread([&] { taken[2].take(r, third.steal_half_from(second)); });
  r.join();
  for (auto* queue : {&first, &second, &third})
    while (item* left = queue->pop()) taken[0].take(r, left);
  once_each<4>(r, taken);
}

/// The owner fills and empties the slot while a thief that has seen its mark takes from it.
void slot_and_thief(model::run& r) {
  small_queue<> queue;
  items<3> given;
  std::array<ledger<3>, 2> taken;
  r.thread([&] {
    queue.push_next(given.ready(0));
    queue.push_next(given.ready(1));
    taken[0].take(r, queue.pop_next());
    queue.push_next(given.ready(2));
  });
  r.thread([&] {
    const std::uint64_t mark = queue.next_mark();
    if (mark != 0) taken[1].take(r, queue.steal_next(mark));
  });
  r.join();
  while (item* left = queue.pop()) taken[0].take(r, left);
  once_each<3>(r, taken);
}

/// The owner takes one of four elements, and moves another from the list to its front; a thief takes two.
template <typename Lock>
void second_look(model::run& r) {
  small_queue<Lock> queue;
  small_queue<Lock> stolen;
  items<4> given;
  for (std::size_t i = 0; i < 4; ++i) queue.push(given.ready(i));
  r.thread([&] { static_cast<void>(queue.pop()); });
  r.thread([&] {
    for (int i = 0; i < 2; ++i) static_cast<void>(stolen.steal_half_from(queue));
  });
  r.thread([&] { r.check(!queue.empty(), "what is on its way inside the queue is seen"); });
  r.join();
}

/// A thread empties the queue, an element at a time, and writes down which before each; a reader that sees the queue
/// empty sees that.
template <typename Fill, typename Take>
void taken_in_time(model::run& r, Fill fill, Take take) {
  small_queue<> queue;
  small_queue<> thiefs;
  items<4> given;
  model::shared<bool> ready{false};
  fill(queue, given);
  r.thread([&] {
    ready = true;
    while (take(queue, thiefs) != nullptr) {}
  });
  r.thread([&] {
    if (queue.empty()) r.check(ready, "who sees a queue empty sees what its takers did before");
  });
  r.join();
  r.check(queue.empty(), "all is taken");
}

void push_two(small_queue<>& queue, items<4>& given) {
  for (std::size_t i = 0; i < 2; ++i) queue.push(given.ready(i));
}
void push_all(small_queue<>& queue, items<4>& given) {
  for (std::size_t i = 0; i < 4; ++i) queue.push(given.ready(i));
}
void push_to_slot(small_queue<>& queue, items<4>& given) { queue.push_next(given.ready(0)); }

void owner_takes(model::run& r) {
  taken_in_time(r, push_two, [](auto& queue, auto&) { return queue.pop(); });
}
void owner_takes_from_list(model::run& r) {
  taken_in_time(r, push_all, [](auto& queue, auto&) { return queue.pop(); });
}
void owner_takes_from_slot(model::run& r) {
  taken_in_time(r, push_to_slot, [](auto& queue, auto&) { return queue.pop_next(); });
}
void thief_takes(model::run& r) {
  taken_in_time(r, push_two, [](auto& queue, auto& thiefs) { return thiefs.steal_half_from(queue); });
}
void thief_takes_from_slot(model::run& r) {
  taken_in_time(r, push_to_slot, [](auto& queue, auto&) { return queue.steal_next(queue.next_mark()); });
}
void anybody_takes_from_list(model::run& r) {
  taken_in_time(r, push_all, [](auto& queue, auto&) { return queue.steal_one(); });
}

/// The list is emptied by one thread, and the ring behind it by another, which knows nothing of the first.
void two_take(model::run& r) {
  small_queue<> queue;
  items<4> given;
  std::array<model::shared<bool>, 2> ready;
  for (std::size_t i = 0; i < 3; ++i) queue.push(given.ready(i));
  r.thread([&] {
    ready[0] = true;
    static_cast<void>(queue.steal_one());
  });
  r.thread([&] {
    ready[1] = true;
    for (int i = 0; i < 2; ++i) static_cast<void>(queue.steal_one());
  });
  r.thread([&] {
    if (queue.empty()) r.check(ready[0] && ready[1], "who sees a queue empty sees what its takers did before");
  });
  r.join();
}

/// Somebody without a queue takes everything, while the owner takes and pushes.
void owner_and_stranger(model::run& r) {
  small_queue<> queue;
  items<4> given;
  std::array<ledger<4>, 2> taken;
  for (std::size_t i = 0; i < 3; ++i) queue.push(given.ready(i));
  r.thread([&] {
    taken[0].take(r, queue.pop());
    queue.push_next(given.ready(3));
    taken[0].take(r, queue.pop());
  });
  r.thread([&] {
    for (int i = 0; i < 3; ++i) taken[1].take(r, queue.steal_one());
  });
  r.join();
  while (item* left = queue.steal_one()) taken[1].take(r, left);
  r.check(queue.empty(), "nothing is left where nobody pushes");
  once_each<4>(r, taken);
}

auto failure_of(void (*body)(model::run&)) -> std::string {
  return model::explore_all({.preemptions = 3, .surprises = 1}, body).failure;
}

template <fault Fault>
auto ring_failure() -> std::string {
  const std::string first = failure_of(ring_and_thieves<faulty_ring<Fault, 2>>);
  return first.empty() ? failure_of(half_at_once<faulty_ring<Fault, 4>>) : first;
}

void holds(void (*body)(model::run&), unsigned preemptions) {
  const model::report all = model::explore_all({.preemptions = preemptions, .surprises = 1}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 20'000, .preemptions = 8, .surprises = 4}, body).failure == "");
}

}  // namespace

TEST_CASE("every element of a ring goes to its owner or to one thief") {
  holds(ring_and_thieves<steal_ring<item, 2>>, 2);
  holds(half_at_once<steal_ring<item, 4>>, 3);
}

TEST_CASE("every element of a queue goes to one taker, through the list as well") {
  holds(list_and_thief<model::mutex>, 2);
  holds(thief_of_thief, 2);
}

TEST_CASE("what is in the slot goes to the owner or to a thief") { holds(slot_and_thief, 3); }

TEST_CASE("an element is seen wherever in the queue it is") { holds(second_look<model::mutex>, 2); }

TEST_CASE("who sees a queue empty sees what its takers did before they took") {
  for (const auto body : {owner_takes, owner_takes_from_list, owner_takes_from_slot, thief_takes, thief_takes_from_slot,
                          anybody_takes_from_list, two_take})
    holds(body, 2);
}

TEST_CASE("somebody without a queue takes what is there, and takes nothing twice") { holds(owner_and_stranger, 2); }

TEST_CASE("of the orders only the one stays unseen that keeps a load from what depends on it") {
  const model::options bounds{.preemptions = 2, .surprises = 1};
  const std::vector<model::body> takers{owner_takes, owner_takes_from_slot, thief_takes, thief_takes_from_slot};
  std::vector<model::body> slots = takers;
  slots.push_back(slot_and_thief);
  CHECK(model::orders_not_needed("run_queue.hpp", bounds, slots) == "");
  std::vector<model::body> rings = takers;
  rings.insert(rings.end(), {list_and_thief<model::mutex>, thief_of_thief, ring_and_thieves<steal_ring<item, 2>>});
  // The observing end of steal_ring.taken where a slot is filled again. Without it a thief might read, before its
  // compare-exchange, what the owner stores after having seen that exchange: no schedule of the explorer lets a load
  // return what is stored later.
  const std::string survivors = model::orders_not_needed("steal_ring.hpp", bounds, rings);
  CHECK_MESSAGE(std::count(survivors.begin(), survivors.end(), ' ') == 1, survivors);
}

TEST_CASE("faults of a ring are found") {
  CHECK(ring_failure<fault::none>() == "");
  CHECK(ring_failure<fault::pops_blindly>() != "");
  CHECK(ring_failure<fault::takes_blindly>() != "");
  CHECK(ring_failure<fault::announces_early>() != "");
  CHECK(ring_failure<fault::never_full>() != "");
  CHECK(ring_failure<fault::keeps_old_slots>() != "");
}

TEST_CASE("a queue without its lock is found") {
  CHECK(failure_of(list_and_thief<no_lock>) != "");
  CHECK(failure_of(second_look<no_lock>) != "");
}
