// tests/sync/split_deque_test.cpp: what one thread sees of a split deque, beside a std::deque as model.
#include <braid/sync/split_deque.hpp>

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

using braid::split_deque;

namespace {

/// Entries are the addresses of numbers.
struct entries {
  auto operator[](std::size_t i) -> int& { return numbers[i]; }
  std::array<int, 64> numbers{};
};

/// A split deque beside a std::deque and the rules that say what is shared.
class twin {
 public:
  explicit twin(std::size_t capacity) : deque_(capacity), capacity_(capacity) {}

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
    deque_.share();
    if (shared_ < expected_.size()) share_expected();
    check();
  }

 private:
  void share_expected() {
    shared_ += (expected_.size() - shared_ + 1) / 2;
    asked_ = false;
  }

  void check() const {
    CHECK(deque_.wanted() == asked_);
    CHECK(deque_.shared_size() == shared_);
    CHECK(deque_.private_size() == expected_.size() - shared_);
  }

  split_deque<int> deque_;
  std::size_t capacity_;
  std::deque<int*> expected_;
  std::size_t shared_ = 0;
  bool asked_ = false;
};

}  // namespace

TEST_CASE("the owner takes what it added, the last first, and nobody else may") {
  entries all;
  split_deque<int> deque(8);
  for (std::size_t i = 0; i < 3; ++i) REQUIRE(deque.try_push(all[i]));
  CHECK(deque.private_size() == 3);
  CHECK(deque.shared_size() == 0);
  CHECK(deque.steal() == nullptr);
  for (std::size_t i = 3; i-- > 0;) CHECK(deque.pop() == &all[i]);
  CHECK(deque.pop() == nullptr);
}

TEST_CASE("who finds nothing asks, and the next push shares the older half") {
  entries all;
  split_deque<int> deque(8);
  for (std::size_t i = 0; i < 3; ++i) REQUIRE(deque.try_push(all[i]));
  CHECK_FALSE(deque.wanted());
  CHECK(deque.steal() == nullptr);
  CHECK(deque.wanted());
  REQUIRE(deque.try_push(all[3]));
  CHECK_FALSE(deque.wanted());
  CHECK(deque.shared_size() == 2);
  CHECK(deque.steal() == &all[0]);
  CHECK(deque.steal() == &all[1]);
  CHECK(deque.steal() == nullptr);
  CHECK(deque.pop() == &all[3]);
  CHECK(deque.pop() == &all[2]);
}

TEST_CASE("a single entry can be shared, and taken back") {
  entries all;
  split_deque<int> deque(1);
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
  split_deque<int> deque(8);
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(deque.try_push(all[i]));
  while (deque.private_size() > 0) deque.share();
  CHECK(deque.shared_size() == 5);
  CHECK(deque.pop() == &all[4]);
  CHECK(deque.shared_size() == 2);
  CHECK(deque.private_size() == 2);
  CHECK(deque.steal() == &all[0]);
}

TEST_CASE("sharing an empty deque leaves the question open") {
  entries all;
  split_deque<int> deque(2);
  CHECK(deque.steal() == nullptr);
  deque.share();
  CHECK(deque.wanted());
  REQUIRE(deque.try_push(all[0]));
  CHECK(deque.steal() == &all[0]);
}

TEST_CASE("a full deque refuses until an entry is taken at either end") {
  entries all;
  split_deque<int> deque(4);
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

TEST_CASE("it does what a std::deque does, whatever the order of the calls") {
  braid::random_source random(1);
  for (std::size_t capacity : {1U, 2U, 4U, 16U}) {
    entries all;
    twin both(capacity);
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t choice = random.below(10);
      if (choice < 4)
        both.push(all[random.below(64)]);
      else if (choice < 6)
        both.pop();
      else if (choice < 9)
        both.steal();
      else
        both.share();
    }
  }
}

TEST_CASE("positions go round without an entry lost") {
  // Steals move the old end on for ever; its position has 16 bits.
  entries all;
  split_deque<int> deque(4);
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
  constexpr std::size_t capacity = split_deque<int>::most_capacity;
  std::vector<int> all(capacity);
  split_deque<int> deque(capacity);
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
  for (std::size_t capacity : {std::size_t{0}, std::size_t{3}, 2 * split_deque<int>::most_capacity}) {
    const auto end = braid::testing::run_in_child([=] { const split_deque<int> deque(capacity); });
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find("power of two") != std::string::npos);
  }
}
