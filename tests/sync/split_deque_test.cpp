// tests/sync/split_deque_test.cpp: what one thread sees of a split deque, beside a std::deque as model.
#include <braid/sync/detail/split_deque.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;
using braid::detail::split_deque;

namespace {

/// Entries are the addresses of numbers.
struct entries {
  auto operator[](std::size_t i) -> int& { return numbers[i]; }
  std::array<int, 64> numbers{};
};

/// A split deque beside a std::deque and the rules that say what is shared.
class twin {
 public:
  twin(std::size_t capacity, barrier_kind kind)
      : barrier_(kind), deque_(capacity, barrier_), capacity_(capacity), guarded_(kind == barrier_kind::symmetric) {}

  void push(int& entry) {
    const bool room = expected_.size() < capacity_;
    CHECK(deque_.try_push(entry) == room);
    if (!room) return;
    expected_.push_back(&entry);
    if (asked_) share_expected();
    check();
  }

  void pop() {
    int* const popped = deque_.pop();
    if (expected_.empty()) {
      CHECK(popped == nullptr);
    } else {
      CHECK(popped == expected_.back());
      if (shared_ == expected_.size()) shared_ /= 2;
      expected_.pop_back();
    }
    check();
  }

  void steal() {
    int* const stolen = deque_.steal();
    if (shared_ == 0) {
      CHECK(stolen == nullptr);
      asked_ = true;
    } else {
      CHECK(stolen == expected_.front());
      expected_.pop_front();
      --shared_;
    }
    check();
  }

  void share() {
    const std::size_t before = shared_;
    const std::size_t moved = deque_.share();
    if (shared_ < expected_.size()) share_expected();
    CHECK(moved == shared_ - before);
    check();
  }

  void take() {
    int* const taken = deque_.take();
    const std::size_t held_back = expected_.size() - shared_;
    if (!asked_ || held_back == 0) {
      CHECK(taken == nullptr);
    } else {
      CHECK(taken == expected_.front());
      expected_.pop_front();
      shared_ += (held_back + 1) / 2 - 1;
    }
    check();
  }

 private:
  void share_expected() {
    shared_ += (expected_.size() - shared_ + 1) / 2;
    asked_ = false;
  }

  void check() {
    CHECK(deque_.wanted() == (asked_ || guarded_));
    CHECK(deque_.is_asked() == asked_);
    CHECK(deque_.is_held_back() == (asked_ && shared_ < expected_.size()));
    CHECK(deque_.shared_size() == shared_);
    CHECK(deque_.private_size() == expected_.size() - shared_);
  }

  asymmetric_barrier barrier_;
  split_deque<int> deque_;
  std::size_t capacity_;
  bool guarded_;
  std::deque<int*> expected_;
  std::size_t shared_ = 0;
  bool asked_ = false;
};

void any_step(twin& both, entries& all, braid::random_source& random) {
  const std::uint64_t choice = random.below(11);
  if (choice < 4) return both.push(all[random.below(64)]);
  if (choice < 6) return both.pop();
  if (choice < 9) return both.steal();
  if (choice < 10) return both.take();
  both.share();
}

}  // namespace

TEST_CASE("the owner takes what it added, the last first, and nobody else may") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(8, barrier);
  for (std::size_t i = 0; i < 3; ++i) REQUIRE(deque.try_push(all[i]));
  CHECK(deque.private_size() == 3);
  CHECK(deque.shared_size() == 0);
  CHECK(deque.steal() == nullptr);
  for (std::size_t i = 3; i-- > 0;) CHECK(deque.pop() == &all[i]);
  CHECK(deque.pop() == nullptr);
}

TEST_CASE("who finds nothing asks, and the next push shares the older half") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(8, barrier);
  for (std::size_t i = 0; i < 3; ++i) REQUIRE(deque.try_push(all[i]));
  CHECK_FALSE(deque.is_asked());
  CHECK(deque.steal() == nullptr);
  CHECK(deque.is_asked());
  REQUIRE(deque.try_push(all[3]));
  CHECK_FALSE(deque.is_asked());
  CHECK(deque.shared_size() == 2);
  CHECK(deque.steal() == &all[0]);
  CHECK(deque.steal() == &all[1]);
  CHECK(deque.steal() == nullptr);
  CHECK(deque.pop() == &all[3]);
  CHECK(deque.pop() == &all[2]);
}

TEST_CASE("a single entry can be shared, and taken back") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(1, barrier);
  REQUIRE(deque.try_push(all[0]));
  deque.share();
  CHECK(deque.shared_size() == 1);
  CHECK(deque.private_size() == 0);
  CHECK(deque.pop() == &all[0]);
  CHECK(deque.shared_size() == 0);
  CHECK(deque.steal() == nullptr);
}

TEST_CASE("taking back leaves the older half to thieves") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(8, barrier);
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(deque.try_push(all[i]));
  while (deque.private_size() > 0) deque.share();
  CHECK(deque.shared_size() == 5);
  CHECK(deque.pop() == &all[4]);
  CHECK(deque.shared_size() == 2);
  CHECK(deque.private_size() == 2);
  CHECK(deque.steal() == &all[0]);
}

TEST_CASE("a thief takes the oldest of an owner that has not answered, and shares half of the rest") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(8, barrier);
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(deque.try_push(all[i]));
  CHECK(deque.take() == nullptr);  // nobody has asked
  CHECK_FALSE(deque.is_held_back());
  CHECK(deque.steal() == nullptr);
  CHECK(deque.is_held_back());
  CHECK(deque.take() == &all[0]);
  CHECK(deque.shared_size() == 2);
  CHECK(deque.private_size() == 2);
  CHECK(deque.is_asked());
  CHECK(deque.pop() == &all[4]);
  for (std::size_t i = 1; i < 3; ++i) CHECK(deque.steal() == &all[i]);
  CHECK(deque.take() == &all[3]);
  CHECK(deque.take() == nullptr);
  CHECK(deque.pop() == nullptr);
}

TEST_CASE("a pin keeps thieves from taking, and is refused while a question stands") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(8, barrier);
  REQUIRE(deque.try_push(all[0]));
  const bool pinned = deque.try_pin();
  CHECK(pinned == (barrier.kind() == barrier_kind::asymmetric));
  deque.ask();
  CHECK((deque.take() == nullptr) == pinned);
  if (pinned) deque.unpin();
  CHECK_FALSE(deque.try_pin());
  CHECK((deque.take() == &all[0]) == pinned);
}

TEST_CASE("private entries are counted with each kind of barrier, until a thief asks") {
  for (const barrier_kind kind : {asymmetric_barrier::best_kind(), barrier_kind::symmetric}) {
    entries all;
    asymmetric_barrier barrier(kind);
    split_deque<int> deque(8, barrier);
    const std::int64_t none = split_deque<int>::no_entries(kind);
    CHECK(deque.has_private(none));
    CHECK_FALSE(deque.has_private(none + 1));
    for (std::size_t i = 0; i < 4; ++i) REQUIRE(deque.try_push(all[i]));
    CHECK(deque.has_private(none + 4));
    CHECK_FALSE(deque.has_private(none + 5));
    CHECK(deque.pop() == &all[3]);
    CHECK_FALSE(deque.has_private(none + 4));
    deque.ask();
    CHECK_FALSE(deque.has_private(none));
    CHECK(deque.share() == 2);
    CHECK(deque.has_private(none + 1));
    CHECK_FALSE(deque.has_private(none + 2));
    while (deque.pop() != nullptr) {}
  }
}

TEST_CASE("sharing an empty deque leaves the question open") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(2, barrier);
  CHECK(deque.steal() == nullptr);
  deque.share();
  CHECK(deque.is_asked());
  REQUIRE(deque.try_push(all[0]));
  CHECK(deque.steal() == &all[0]);
}

TEST_CASE("a full deque refuses until an entry is taken at either end") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(4, barrier);
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(deque.try_push(all[i]));
  CHECK_FALSE(deque.try_push(all[4]));
  deque.share();
  CHECK(deque.steal() == &all[0]);
  CHECK(deque.try_push(all[4]));
  CHECK_FALSE(deque.try_push(all[5]));
  CHECK(deque.pop() == &all[4]);
  CHECK(deque.try_push(all[5]));
  CHECK_FALSE(deque.try_push(all[6]));
  for (std::size_t i : {5U, 3U, 2U, 1U}) CHECK(deque.pop() == &all[i]);
  CHECK(deque.pop() == nullptr);
}

TEST_CASE("a deque that may grow does so when it is full, and keeps what is in it") {
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(2, barrier, 8);
  for (std::size_t i = 0; i < 3; ++i) REQUIRE(deque.try_push(all[i]));
  deque.share();
  CHECK(deque.steal() == &all[0]);
  for (std::size_t i = 3; i < 9; ++i) REQUIRE(deque.try_push(all[i]));
  CHECK_FALSE(deque.try_push(all[9]));
  CHECK(deque.steal() == &all[1]);
  for (std::size_t i = 9; i-- > 2;) CHECK(deque.pop() == &all[i]);
  CHECK(deque.pop() == nullptr);
}

TEST_CASE("it does what a std::deque does, whatever the order of the calls") {
  braid::random_source random(1);
  for (const barrier_kind kind : {asymmetric_barrier::best_kind(), barrier_kind::symmetric}) {
    for (std::size_t capacity : {1U, 2U, 4U, 16U}) {
      entries all;
      twin both(capacity, kind);
      for (int step = 0; step < 20'000; ++step) any_step(both, all, random);
    }
  }
}

TEST_CASE("positions go round without an entry lost") {
  // Steals move the old end on for ever; its position has 16 bits.
  entries all;
  asymmetric_barrier barrier;
  split_deque<int> deque(4, barrier);
  bool as_expected = true;
  for (std::size_t i = 0; i < 200'000; ++i) {
    as_expected = as_expected && deque.try_push(all[i % 64]) && deque.try_push(all[(i + 1) % 64]);
    deque.share();
    as_expected = as_expected && deque.steal() == &all[i % 64];
    if (i % 3 == 0) deque.share();
    as_expected = as_expected && deque.pop() == &all[(i + 1) % 64];
  }
  CHECK(as_expected);
  CHECK(deque.pop() == nullptr);
}

TEST_CASE("the greatest capacity can be filled and shared whole") {
  constexpr std::size_t capacity = split_deque<int>::capacity_limit;
  std::vector<int> all(capacity);
  asymmetric_barrier barrier;
  split_deque<int> deque(capacity, barrier);
  bool taken_in_order = true;
  for (int& each : all) taken_in_order = deque.try_push(each) && taken_in_order;
  CHECK_FALSE(deque.try_push(all[0]));
  while (deque.private_size() > 0) deque.share();
  CHECK(deque.shared_size() == capacity);
  for (int& each : all) taken_in_order = deque.steal() == &each && taken_in_order;
  CHECK(taken_in_order);
  CHECK(deque.pop() == nullptr);
}

TEST_CASE("a capacity that is no power of two ends the program") {
  for (std::size_t capacity : {std::size_t{0}, std::size_t{3}, 2 * split_deque<int>::capacity_limit}) {
    const auto end = braid::testing::run_in_child([=] {
      asymmetric_barrier barrier;
      const split_deque<int> deque(capacity, barrier);
    });
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find("power of two") != std::string::npos);
  }
}
