// tests/sync/split_deque_model.cpp: under no schedule is an entry of a split deque lost, taken twice or seen
// unfinished.
#include <braid/sync/split_deque.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::split_deque;
namespace model = braid::model;

namespace {

struct item {
  model::shared<int> payload{0};
  int pushed = 0;  // these two are outside of the model: threads of a run take turns
  int taken = 0;
};

/// Who holds an item alone.
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
template <template <typename> typename Deque>
void retract_and_steal(model::run& r) {
  Deque<item> deque(2);
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
template <template <typename> typename Deque>
void one_for_three(model::run& r) {
  Deque<item> deque(1);
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
template <template <typename> typename Deque>
void slot_filled_anew(model::run& r) {
  Deque<item> deque(2);
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
template <template <typename> typename Deque>
void ring_goes_round(model::run& r) {
  Deque<item> deque(1);
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
template <template <typename> typename Deque>
void shared_one_by_one(model::run& r) {
  Deque<item> deque(2);
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
template <template <typename> typename Deque>
void asking(model::run& r) {
  Deque<item> deque(2);
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

/// What a thief did before it asked is seen by the owner that answers, though another one asked after it.
void answering(model::run& r) {
  split_deque<item> deque(2);
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
    if (!deque.wanted()) return;
    deque.share();
    if (before) r.check(told == 1, "an answer sees what was done before the question");
  });
  r.join();
  take_the_rest(r, deque, items);
}

enum class fault : std::uint8_t {
  none,
  no_tag,
  shares_relaxed,
  retracts_by_a_store,
  pops_what_is_shared,
  reads_the_slot_late,
  steals_by_a_store,
  pushes_over_a_full_ring,
  ignores_the_question,
  shares_less_than_one,
};

/// A split deque with a fault. As plain as can be: no packed words beyond the one, no positions that wrap.
template <fault Fault>
struct faulty {
  template <typename T>
  class deque {
   public:
    explicit deque(std::uint32_t capacity) : ring_(capacity) {}

    auto try_push(T& entry) -> bool {
      const bool full = head_ - tail_of(word_.load(acquire)) == ring_.size();
      if (full && Fault != fault::pushes_over_a_full_ring) return false;
      slot(head_++).store(&entry, relaxed);
      if (want_.load(relaxed) != 0 && Fault != fault::ignores_the_question) share();
      return true;
    }

    auto pop() -> T* {
      if (head_ == split_) {
        if (Fault == fault::pops_what_is_shared) {
          if (head_ == tail_of(word_.load(relaxed))) return nullptr;
          --split_;
        } else if (!retract()) {
          return nullptr;
        }
      }
      return slot(--head_).load(relaxed);
    }

    void share() {
      const std::uint32_t moved = (head_ - split_ + (Fault == fault::shares_less_than_one ? 0 : 1)) / 2;
      want_.store(0, relaxed);
      split_ += moved;
      word seen = word_.load(relaxed);
      const std::memory_order order = Fault == fault::shares_relaxed ? relaxed : release;
      while (!word_.compare_exchange_weak(seen, made(tail_of(seen), split_, tag_of(seen) + 1), order, relaxed)) {}
    }

    auto steal() -> T* {
      word seen = word_.load(acquire);
      if (tail_of(seen) >= split_of(seen)) {
        want_.store(1, relaxed);
        return nullptr;
      }
      T* oldest = slot(tail_of(seen)).load(relaxed);
      const word next = made(tail_of(seen) + 1, split_of(seen), tag_of(seen));
      if (Fault == fault::steals_by_a_store)
        word_.store(next, release);
      else if (!word_.compare_exchange_strong(seen, next, acquire_and_release, relaxed))
        return nullptr;
      return Fault == fault::reads_the_slot_late ? slot(tail_of(seen)).load(relaxed) : oldest;
    }

   private:
    using word = std::uint64_t;
    static constexpr auto acquire_and_release = std::memory_order_acq_rel;

    static auto tail_of(word value) -> std::uint32_t { return value & 0xffffU; }
    static auto split_of(word value) -> std::uint32_t { return (value >> 16U) & 0xffffU; }
    static auto tag_of(word value) -> word { return value >> 32U; }
    static auto made(std::uint32_t tail, std::uint32_t split, word tag) -> word {
      return (Fault == fault::no_tag ? 0 : tag << 32U) | word{split} << 16U | tail;
    }

    auto slot(std::uint32_t position) -> atomic<T*>& { return ring_[position % ring_.size()]; }

    auto retract() -> bool {
      word seen = word_.load(acquire);
      while (tail_of(seen) < split_of(seen)) {
        const std::uint32_t middle = (tail_of(seen) + split_of(seen)) / 2;
        const word next = made(tail_of(seen), middle, tag_of(seen));
        if (Fault == fault::retracts_by_a_store)
          word_.store(next, release);
        else if (!word_.compare_exchange_weak(seen, next, acquire_and_release, acquire))
          continue;
        split_ = middle;
        return true;
      }
      return false;
    }

    std::vector<atomic<T*>> ring_;
    std::uint32_t head_ = 0;
    std::uint32_t split_ = 0;
    atomic<std::uint32_t> want_{0};
    atomic<word> word_{0};
  };
};

constexpr std::array every_body{retract_and_steal<split_deque>,
                                one_for_three<split_deque>,
                                slot_filled_anew<split_deque>,
                                ring_goes_round<split_deque>,
                                shared_one_by_one<split_deque>,
                                asking<split_deque>,
                                answering};

/// How each body ends with a deque that has this fault; those that pass are left out.
template <fault Fault>
auto failures() -> std::string {
  constexpr std::array bodies{
      retract_and_steal<faulty<Fault>::template deque>, one_for_three<faulty<Fault>::template deque>,
      slot_filled_anew<faulty<Fault>::template deque>,  ring_goes_round<faulty<Fault>::template deque>,
      shared_one_by_one<faulty<Fault>::template deque>, asking<faulty<Fault>::template deque>};
  std::string all;
  for (const auto body : bodies) {
    const std::string failure = model::explore_all({.steps = 300}, body).failure;
    if (!failure.empty()) all += failure.substr(0, failure.find('\n')) + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("every entry is taken once, with what was written before its push") {
  for (const auto body : every_body) {
    const model::report all = model::explore_all({}, body);
    CHECK(all.failure == "");
    CHECK(all.complete);
    CHECK(model::explore({.seeds = 20'000, .preemptions = 6, .surprises = 4}, body).failure == "");
  }
}

TEST_CASE("the orders of the split deque are needed, but for one edge") {
  const std::string not_needed =
      model::orders_not_needed("split_deque.hpp", {}, std::vector<model::body>(every_body.begin(), every_body.end()));
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
