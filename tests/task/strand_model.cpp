// tests/task/strand_model.cpp: under no schedule do two threads have the turn of a strand, or is a job forgotten.
#include <braid/task/detail/strand_mailbox.hpp>

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
using braid::detail::strand_mailbox;
using braid::detail::strand_push;
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
template <typename Mailbox>
void take_turn(model::run& r, Mailbox& mailbox, strand_data& data) {
  while (true) {
    item* first = mailbox.take();
    if (first == nullptr && mailbox.try_rest()) return;
    for (; first != nullptr; first = first->next) {
      r.check(first->payload == 1, "a job brings what was written before its push");
      data.ran = data.ran + 1;
    }
  }
}

/// Two threads post, the first twice; the thread that gets the strand runs what there is. The last looks after the
/// others.
template <template <typename> typename Mailbox>
void posting(model::run& r) {
  Mailbox<item> mailbox;
  std::array<item, 3> items;
  strand_data data;
  const auto post = [&](item& posted) {
    posted.payload = 1;
    const strand_push became = mailbox.try_push(posted);
    r.check(became != strand_push::closed, "an open strand takes it");
    if (became == strand_push::first) take_turn(r, mailbox, data);
  };
  r.thread([&] {
    post(items[0]);
    post(items[1]);
  });
  r.thread([&] { post(items[2]); });
  r.join();
  r.check(mailbox.is_resting(), "the turn was given away");
  r.check(data.ran == 3, "each job ran once");
}

/// A thread waits for the end of the turn, and then touches what the jobs touched.
template <template <typename> typename Mailbox>
void watching(model::run& r) {
  Mailbox<item> mailbox;
  item only;
  strand_data data;
  only.payload = 1;
  r.check(mailbox.try_push(only) == strand_push::first, "the first gets the turn");
  r.thread([&] { take_turn(r, mailbox, data); });
  r.thread([&] {
    if (mailbox.is_resting()) r.check(data.ran == 1, "what was done is visible");
  });
  r.join();
}

/// The first poster is refused by the executor and closes, while another posts behind it.
template <template <typename> typename Mailbox>
void closing(model::run& r) {
  Mailbox<item> mailbox;
  std::array<item, 2> items;
  std::array<bool, 2> queued{};
  model::shared<int> arrived{0};
  for (std::size_t i : {0U, 1U})
    r.thread([&, i] {
      items[i].payload = 1;
      const strand_push became = mailbox.try_push(items[i]);
      queued[i] = became == strand_push::queued;
      if (became != strand_push::first) return;
      item* first = mailbox.close();
      r.check(first == &items[i], "the own job is the oldest");
      for (item* behind = first->next; behind != nullptr; behind = behind->next) {
        r.check(behind->payload == 1, "a job brings what was written before its push");
        arrived = arrived + 1;
      }
      r.check(mailbox.try_rest(), "a closed strand rests at once");
    });
  r.join();
  r.check(arrived == (queued[0] || queued[1] ? 1 : 0), "what was accepted arrives, and nothing else");
  item late;
  r.check(mailbox.try_push(late) == strand_push::closed, "it stays closed");
}

enum class fault : std::uint8_t { none, rests_blindly, hands_over_unseen, both_are_first };

/// A mailbox with a fault.
template <fault Fault>
struct faulty {
  template <typename T>
  class mailbox {
   public:
    auto try_push(T& element) -> strand_push {
      T* seen = head_.load(relaxed);
      do element.next = seen == resting() ? nullptr : seen;
      while (!head_.compare_exchange_weak(seen, &element, acq_rel, relaxed));
      const bool first = seen == resting() || (Fault == fault::both_are_first && seen == nullptr);
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
    auto try_rest() -> bool {
      T* seen = nullptr;
      if (Fault == fault::rests_blindly) {
        if (head_.load(relaxed) != nullptr) return false;
        head_.store(resting(), release);
        return true;
      }
      const auto how = Fault == fault::hands_over_unseen ? relaxed : release;
      return head_.compare_exchange_strong(seen, resting(), how, relaxed);
    }
    [[nodiscard]] auto is_resting() const -> bool { return head_.load(acquire) == resting(); }

   private:
    static auto resting() -> T* { return reinterpret_cast<T*>(std::uintptr_t{1}); }
    atomic<T*> head_{resting()};
  };
};

auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore_all({.surprises = 1}, body).failure; }

}  // namespace

TEST_CASE("one thread at a time has the turn, and every job runs") {
  const model::report all = model::explore_all({.surprises = 1}, posting<strand_mailbox>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  const model::options wide{.seeds = 30'000, .preemptions = 6, .surprises = 4};
  CHECK(model::explore(wide, posting<strand_mailbox>).failure == "");
}

TEST_CASE("who sees that a strand rests sees what its jobs did") {
  const model::report all = model::explore_all({.preemptions = 3}, watching<strand_mailbox>);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("a close splits pushes into those that arrive and those that are refused") {
  const model::report all = model::explore_all({.preemptions = 3}, closing<strand_mailbox>);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("every order of the mailbox is needed") {
  CHECK(model::orders_not_needed("strand_mailbox.hpp", {.surprises = 1},
                                 {posting<strand_mailbox>, watching<strand_mailbox>, closing<strand_mailbox>}) == "");
}

TEST_CASE("faults of a mailbox are found") {
  CHECK(failure_of(posting<faulty<fault::none>::mailbox>) == "");
  CHECK(failure_of(posting<faulty<fault::rests_blindly>::mailbox>) != "");
  CHECK(failure_of(posting<faulty<fault::hands_over_unseen>::mailbox>) != "");
  CHECK(failure_of(posting<faulty<fault::both_are_first>::mailbox>) != "");
}
