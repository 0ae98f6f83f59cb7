// tests/sync/remote_stack_model.cpp: under no schedule does a remote stack lose, double or reorder an element, or a
// wake.
#include <braid/sync/detail/remote_stack.hpp>

#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::parker;
using braid::detail::push_result;
namespace model = braid::model;

namespace {

struct item {
  int producer = 0;
  int number = 0;
  model::shared<int> payload{0};
  model::shared<item*> next{nullptr};
};

/// What has arrived, by producer.
struct arrivals {
  /// Everything that was taken at once.
  void receive(model::run& r, item* first) {
    for (; first != nullptr; first = first->next) {
      r.check(first->payload == 1, "an element brings what was written before its push");
      r.check(first->number == next[static_cast<std::size_t>(first->producer)]++,
              "each producer's elements are in order");
    }
  }

  [[nodiscard]] auto total() const -> int { return next[0] + next[1]; }

  std::array<int, 2> next{};
};

/// Two producers, the first of which pushes twice; the owner sleeps when there is nothing.
template <template <typename> typename Stack>
void sleeping_owner(model::run& r) {
  Stack<item> stack;
  parker sleep;
  std::array<item, 3> items;
  for (int i = 0; i < 3; ++i) items[static_cast<std::size_t>(i)].producer = i / 2;
  items[1].number = 1;
  const auto push = [&](item& pushed) {
    pushed.payload = 1;
    const auto became = stack.try_push(pushed);
    r.check(became != push_result::closed, "an open stack takes it");
    if (became == push_result::wake) sleep.unpark();
  };
  r.thread([&] {
    arrivals arrived;
    while (arrived.total() < 3) {
      item* first = stack.take();
      arrived.receive(r, first);
      if (first == nullptr && stack.try_arm()) sleep.park();
    }
  });
  r.thread([&] {
    push(items[0]);
    push(items[1]);
  });
  r.thread([&] { push(items[2]); });
  r.join();
}

/// The owner closes the stack while two producers push.
template <template <typename> typename Stack>
void closing_owner(model::run& r) {
  Stack<item> stack;
  std::array<item, 2> items;
  std::array<bool, 2> queued{};
  arrivals arrived;
  r.thread([&] {
    arrived.receive(r, stack.take());
    arrived.receive(r, stack.close());
  });
  for (std::size_t i : {0U, 1U})
    r.thread([&, i] {
      items[i].producer = static_cast<int>(i);
      items[i].payload = 1;
      queued[i] = stack.try_push(items[i]) == push_result::queued;
    });
  r.join();
  for (std::size_t i : {0U, 1U}) r.check(queued[i] == (arrived.next[i] == 1), "what is refused does not arrive");
  r.check(stack.take() == nullptr, "nothing is left");
}

/// An armed stack tells exactly one of two pushes to wake the owner.
void armed_once(model::run& r) {
  braid::detail::remote_stack<item> stack;
  std::array<item, 2> items;
  atomic<int> wakes{0};
  r.check(stack.try_arm(), "an empty stack can be armed");
  for (std::size_t i : {0U, 1U})
    r.thread([&, i] {
      if (stack.try_push(items[i]) == push_result::wake) wakes.fetch_add(1, relaxed);
    });
  r.join();
  r.check(wakes.load(relaxed) == 1, "one wakes");
  r.check(!stack.try_arm(), "a stack that holds something cannot be armed");
}

/// The owner may find an element before it is woken for it. Then it goes away, as soon as nobody owes it a wake.
template <bool Waits>
void leaving_owner(model::run& r) {
  braid::detail::remote_stack<item> stack;
  parker sleep;
  item pushed;
  atomic<std::uint32_t> woken{0};
  model::shared<int> there{1};
  r.thread([&] {
    while (stack.take() == nullptr)
      if (stack.try_arm()) static_cast<void>(sleep.park_until(braid::time_point()));  // for the explorer at any time
    static_cast<void>(stack.close());
    while (Waits && woken.load(acquire) != stack.wakes()) braid::detail::let_others_run();
    there = 0;
  });
  r.thread([&] {
    if (stack.try_push(pushed) != push_result::wake) return;
    r.check(there == 1, "who wakes the owner finds it there");
    sleep.unpark();
    woken.fetch_add(1, release);
  });
  r.join();
}

enum class fault : std::uint8_t { none, arms_blindly, tells_nobody, takes_in_two_steps, keeps_the_mark };

/// A remote stack with a fault.
template <fault Fault>
struct faulty {
  template <typename T>
  class stack {
   public:
    auto try_push(T& element) -> push_result {
      T* seen = head_.load(relaxed);
      do {
        if (seen == closed()) return push_result::closed;
        element.next = seen == armed() ? nullptr : seen;
      } while (!head_.compare_exchange_weak(seen, &element, release, relaxed));
      return seen == armed() && Fault != fault::tells_nobody ? push_result::wake : push_result::queued;
    }

    auto take() -> T* {
      T* seen = head_.load(acquire);
      if (seen == nullptr || seen == closed()) return nullptr;
      if (Fault == fault::takes_in_two_steps)
        head_.store(nullptr, relaxed);
      else
        seen = head_.exchange(nullptr, acquire);
      return in_order(seen);
    }

    auto try_arm() -> bool {
      T* seen = nullptr;
      if (Fault != fault::arms_blindly) return head_.compare_exchange_strong(seen, armed(), relaxed, relaxed);
      if (head_.load(relaxed) != nullptr) return false;
      head_.store(armed(), relaxed);
      return true;
    }

    auto close() -> T* {
      return in_order(head_.exchange(Fault == fault::keeps_the_mark ? nullptr : closed(), acquire));
    }

   private:
    static auto armed() -> T* { return reinterpret_cast<T*>(std::uintptr_t{1}); }
    static auto closed() -> T* { return reinterpret_cast<T*>(std::uintptr_t{2}); }

    static auto in_order(T* newest) -> T* {
      if (newest == armed() || newest == closed()) return nullptr;
      T* oldest = nullptr;
      while (newest != nullptr) {
        T* older = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = older;
      }
      return oldest;
    }

    atomic<T*> head_{nullptr};
  };
};

auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore_all({.surprises = 1}, body).failure; }

}  // namespace

TEST_CASE("an owner that sleeps when there is nothing gets everything, in order") {
  const model::report all = model::explore_all({.surprises = 1}, sleeping_owner<braid::detail::remote_stack>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  const model::options wide{.seeds = 30'000, .preemptions = 6, .surprises = 4};
  CHECK(model::explore(wide, sleeping_owner<braid::detail::remote_stack>).failure == "");
}

TEST_CASE("a close splits pushes into those that arrive and those that are refused") {
  const model::report all = model::explore_all({.preemptions = 3}, closing_owner<braid::detail::remote_stack>);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("of two pushes at an armed stack one is told to wake") {
  const model::report all = model::explore_all({.preemptions = 3}, armed_once);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("an owner that counts the wakes it is owed does not go away before they came") {
  const model::report all = model::explore_all({.preemptions = 3, .surprises = 2}, leaving_owner<true>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(failure_of(leaving_owner<false>) != "");
}

TEST_CASE("every order of the remote stack is needed") {
  CHECK(model::orders_not_needed("remote_stack.hpp", {}, {closing_owner<braid::detail::remote_stack>}) == "");
}

TEST_CASE("faults of a remote stack are found") {
  CHECK(failure_of(sleeping_owner<faulty<fault::none>::stack>) == "");
  CHECK(failure_of(closing_owner<faulty<fault::none>::stack>) == "");
  CHECK(failure_of(sleeping_owner<faulty<fault::arms_blindly>::stack>).starts_with("deadlock"));
  CHECK(failure_of(sleeping_owner<faulty<fault::tells_nobody>::stack>).starts_with("deadlock"));
  CHECK(failure_of(sleeping_owner<faulty<fault::takes_in_two_steps>::stack>) != "");
  CHECK(failure_of(closing_owner<faulty<fault::keeps_the_mark>::stack>).starts_with("check failed: what is refused"));
}
