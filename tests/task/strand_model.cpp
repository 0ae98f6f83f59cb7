// tests/task/strand_model.cpp: under no schedule do two threads have the turn of a strand, or is a job forgotten.
#include <braid/task/detail/strand_queue.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

using braid::acq_rel;
using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::strand_push;
using braid::detail::strand_queue;
namespace model = braid::model;

namespace {

struct item {
  model::shared<int> payload{0};
  model::shared<item*> next{nullptr};
};

/// What the jobs of the strand touch, without a lock.
struct strand_data {
  model::shared<int> ran{0};
};

/// Runs what there is until the turn is given away.
template <typename Queue>
void drain(model::run& r, Queue& queue, strand_data& data) {
  while (true) {
    item* first = queue.take();
    if (first == nullptr && queue.try_release()) return;
    for (; first != nullptr; first = first->next) {
      r.check(first->payload == 1, "a job brings what was written before its push");
      data.ran = data.ran + 1;
    }
  }
}

/// Two threads post, the first twice; the thread that gets the strand runs what there is. The last looks after the
/// others.
template <template <typename> typename Queue>
void posting(model::run& r) {
  Queue<item> queue;
  std::array<item, 3> items;
  strand_data data;
  const auto post = [&](item& posted) {
    posted.payload = 1;
    if (queue.push(posted) == strand_push::first) drain(r, queue, data);
  };
  r.thread([&] {
    post(items[0]);
    post(items[1]);
  });
  r.thread([&] { post(items[2]); });
  r.join();
  r.check(queue.is_idle(), "the turn was given away");
  r.check(data.ran == 3, "each job ran once");
}

/// A thread waits for the end of the turn, and then touches what the jobs touched.
template <template <typename> typename Queue>
void watching(model::run& r) {
  Queue<item> queue;
  item only;
  strand_data data;
  only.payload = 1;
  r.check(queue.push(only) == strand_push::first, "the first gets the turn");
  r.thread([&] { drain(r, queue, data); });
  r.thread([&] {
    if (queue.is_idle()) r.check(data.ran == 1, "what was done is visible");
  });
  r.join();
}

enum class fault : std::uint8_t { none, releases_blindly, hands_over_unseen, both_are_first };

/// A mailbox with a fault.
template <fault Fault>
struct faulty {
  template <typename T>
  class queue {
   public:
    auto push(T& element) -> strand_push {
      T* seen = head_.load(relaxed);
      do element.next = seen == idle() ? nullptr : seen;
      while (!head_.compare_exchange_weak(seen, &element, acq_rel, relaxed));
      const bool first = seen == idle() || (Fault == fault::both_are_first && seen == nullptr);
      return first ? strand_push::first : strand_push::queued;
    }
    auto take() -> T* {
      if (head_.load(relaxed) == nullptr) return nullptr;
      T* newest = head_.exchange(nullptr, acquire);
      T* oldest = nullptr;
      while (newest != nullptr) {
        T* const older = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = older;
      }
      return oldest;
    }
    auto try_release() -> bool {
      T* seen = nullptr;
      if (Fault == fault::releases_blindly) {
        if (head_.load(relaxed) != nullptr) return false;
        head_.store(idle(), release);
        return true;
      }
      const auto how = Fault == fault::hands_over_unseen ? relaxed : release;
      return head_.compare_exchange_strong(seen, idle(), how, relaxed);
    }
    [[nodiscard]] auto is_idle() const -> bool { return head_.load(acquire) == idle(); }

   private:
    static auto idle() -> T* { return reinterpret_cast<T*>(std::uintptr_t{1}); }
    atomic<T*> head_{idle()};
  };
};

auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore_all({.surprises = 1}, body).failure; }

}  // namespace

TEST_CASE("one thread at a time has the turn, and every job runs") {
  const model::report all = model::explore_all({.surprises = 1}, posting<strand_queue>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  const model::options wide{.seeds = 30'000, .preemptions = 6, .surprises = 4};
  CHECK(model::explore(wide, posting<strand_queue>).failure == "");
}

TEST_CASE("who sees that a strand rests sees what its jobs did") {
  const model::report all = model::explore_all({.preemptions = 3}, watching<strand_queue>);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("every order of the mailbox is needed") {
  CHECK(model::orders_not_needed("strand_queue.hpp", {.surprises = 1},
                                 {posting<strand_queue>, watching<strand_queue>}) == "");
}

TEST_CASE("faults of a mailbox are found") {
  CHECK(failure_of(posting<faulty<fault::none>::queue>) == "");
  CHECK(failure_of(posting<faulty<fault::releases_blindly>::queue>) != "");
  CHECK(failure_of(posting<faulty<fault::hands_over_unseen>::queue>) != "");
  CHECK(failure_of(posting<faulty<fault::both_are_first>::queue>) != "");
}
