// tests/sync/model_explorer_model.cpp: the explorer catches what is broken and passes what is correct.
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/futex.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/sync/explorations.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

using braid::acq_rel;
using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::seq_cst;
using braid::testing::dekker;
using braid::testing::message;
using braid::testing::must_fail;
using braid::testing::must_pass;
using braid::testing::says;
namespace model = braid::model;

// --- waiting ---------------------------------------------------------------------------------------------------------

namespace {

enum class waker : std::uint8_t { wakes, forgets };
enum class look : std::uint8_t { before_sleep, before_announcing };

/// One thread waits until another has set a word.
auto wait_for_word(waker other) {
  return [other](model::run& r) {
    atomic<std::uint32_t> word{0};
    r.thread([&] {
      while (word.load(relaxed) == 0) braid::detail::futex_wait(word, 0);
    });
    r.thread([&] {
      word.store(1, relaxed);
      if (other == waker::wakes) braid::detail::futex_wake(word, 1);
    });
    r.join();
  };
}

/// An event count in small: the waker skips the wake when nobody has announced himself.
auto announce_and_wait(look looks) {
  return [looks](model::run& r) {
    atomic<std::uint32_t> epoch{0};
    atomic<int> waiters{0};
    atomic<bool> done{false};
    r.thread([&] {
      bool seen = looks == look::before_announcing && done.load(seq_cst);
      waiters.store(1, seq_cst);
      const std::uint32_t key = epoch.load(seq_cst);
      if (looks == look::before_sleep) seen = done.load(seq_cst);
      while (!seen && epoch.load(seq_cst) == key) braid::detail::futex_wait(epoch, key);
    });
    r.thread([&] {
      done.store(true, seq_cst);
      epoch.fetch_add(1, seq_cst);
      if (waiters.load(seq_cst) != 0) braid::detail::futex_wake(epoch, 1);
    });
    r.join();
  };
}

}  // namespace

TEST_CASE("a wake that is missing is a deadlock") {
  must_pass(wait_for_word(waker::wakes));
  must_fail(wait_for_word(waker::forgets), "deadlock: thread 0 joins; thread 1 waits for a0");
}

TEST_CASE("a waiter that looks before it announces itself loses the notify") {
  must_pass(announce_and_wait(look::before_sleep));
  must_fail(announce_and_wait(look::before_announcing), "deadlock");
}

TEST_CASE("a wait may end early, and one with a deadline may end by it") {
  const auto body = [](auto wait) {
    return [wait](model::run& r) {
      atomic<std::uint32_t> word{0};
      r.thread([&] {
        r.check(wait(word) == braid::detail::futex_wait_status::woken && word.load(relaxed) == 1, "it was woken");
      });
      r.thread([&] {
        word.store(1, relaxed);
        braid::detail::futex_wake(word, 1);
      });
      r.join();
    };
  };
  const auto for_ever = [](atomic<std::uint32_t>& word) { return braid::detail::futex_wait(word, 0); };
  const auto with_deadline = [](atomic<std::uint32_t>& word) {
    return braid::detail::futex_wait(word, 0, braid::time_point{});
  };
  must_pass(
      [](model::run& r) {
        atomic<std::uint32_t> word{0};
        r.thread([&] {
          r.check(
              braid::detail::futex_wait(word, 0, braid::time_point{}) == braid::detail::futex_wait_status::timed_out,
              "");
        });
        r.join();
      },
      {.surprises = 0});
  must_fail(body(for_ever), "it was woken");
  must_fail(body(with_deadline), "it was woken");
}

TEST_CASE("a wait that was woken says so, though the one before it ended by its deadline") {
  const auto body = [](model::run& r) {
    atomic<std::uint32_t> word{0};
    atomic<bool> again{false};
    r.thread([&] {
      r.check(braid::detail::futex_wait(word, 0, braid::time_point{}) == braid::detail::futex_wait_status::timed_out,
              "nobody wakes it");
      again.store(true, relaxed);
      r.check(braid::detail::futex_wait(word, 0) == braid::detail::futex_wait_status::woken,
              "the second wait was woken");
    });
    r.thread([&] {
      while (!again.load(relaxed)) r.yield();
      word.store(1, relaxed);
      braid::detail::futex_wake(word, 1);
    });
    r.join();
  };
  must_pass(body, {.surprises = 0});
}

TEST_CASE("a wake wakes as many as it says, and any of them") {
  const auto body = [](int count, unsigned not_woken) {
    return [=](model::run& r) {
      atomic<std::uint32_t> word{0};
      std::array<bool, 2> woken{};
      for (std::size_t i : {0U, 1U})
        r.thread([&, i] {
          woken[i] = braid::detail::futex_wait(word, 0, braid::time_point{}) == braid::detail::futex_wait_status::woken;
        });
      r.thread([&] { braid::detail::futex_wake(word, count); });
      r.join();
      r.check(not_woken > 1 || !woken[1 - not_woken] || woken[not_woken], "the one that it should wake");
      r.check(count > 1 || !(woken[0] && woken[1]), "not more than it should wake");
    };
  };
  must_pass(body(1, 2), {.surprises = 0});
  must_pass(body(2, 2), {.surprises = 0});
  must_fail(body(1, 0), "the one that it should wake", {.surprises = 0});
  must_fail(body(1, 1), "the one that it should wake", {.surprises = 0});
}

// --- a structure -----------------------------------------------------------------------------------------------------

namespace {

/// Treiber's stack of two nodes. The head holds a node's number plus one, and above that a count of changes, if any.
class two_node_stack {
 public:
  explicit two_node_stack(std::uint32_t step) : step_(step) {
    push(1);
    push(0);
  }

  void push(std::uint32_t node) {
    std::uint32_t seen = head_.load(relaxed);
    do next_[node].store(seen & 0xffU, relaxed);
    while (!head_.compare_exchange_strong(seen, changed(seen, node + 1), release, relaxed));
  }

  auto pop() -> std::optional<std::uint32_t> {
    std::uint32_t seen = head_.load(acquire);
    while ((seen & 0xffU) != 0) {
      const std::uint32_t node = (seen & 0xffU) - 1;
      const std::uint32_t next = next_[node].load(relaxed);
      if (head_.compare_exchange_strong(seen, changed(seen, next), acquire, acquire)) return node;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] auto changed(std::uint32_t seen, std::uint32_t top) const -> std::uint32_t {
    return ((seen & ~0xffU) + step_) | top;
  }

  std::uint32_t step_;  // 0: the head does not count its changes
  atomic<std::uint32_t> head_{0};
  std::array<atomic<std::uint32_t>, 2> next_{};
};

auto pop_while_other_pops_and_pushes(std::uint32_t step) {
  return [step](model::run& r) {
    two_node_stack stack(step);
    std::optional<std::uint32_t> mine;
    std::optional<std::uint32_t> kept;
    r.thread([&] { mine = stack.pop(); });
    r.thread([&] {
      const auto first = stack.pop();
      kept = stack.pop();
      if (first) stack.push(*first);
    });
    r.join();
    std::multiset<std::uint32_t> all;
    if (mine) all.insert(*mine);
    if (kept) all.insert(*kept);
    for (auto node = stack.pop(); node && all.size() < 4; node = stack.pop()) all.insert(*node);
    r.check(all == std::multiset<std::uint32_t>{0, 1}, "each node is in one place");
  };
}

}  // namespace

TEST_CASE("a stack whose head does not count its changes takes one node for another") {
  must_pass(pop_while_other_pops_and_pushes(0x100));
  must_fail(pop_while_other_pops_and_pushes(0), "each node is in one place");
}

// --- the explorer itself ---------------------------------------------------------------------------------------------

TEST_CASE("every interleaving is run, and none twice as often as it must") {
  std::set<std::string> seen;
  const auto body = [&seen](model::run& r) {
    std::string done;
    atomic<int> nothing{0};
    for (const char* steps : {"ab", "xy"})
      r.thread([&, steps] {
        for (const char* step = steps; *step != '\0'; ++step) {
          nothing.store(0, relaxed);
          done += *step;
        }
      });
    r.join();
    seen.insert(done);
  };
  const model::report report = model::explore_all({.preemptions = 4}, body);
  CHECK(report.complete);
  CHECK(seen == std::set<std::string>{"abxy", "axby", "axyb", "xaby", "xayb", "xyab"});
  seen.clear();
  CHECK(model::explore_all({.preemptions = 0}, body).runs == 2);
  CHECK(seen == std::set<std::string>{"abxy", "xyab"});
}

TEST_CASE("a failure is repeated by its seed, by its schedule, and by nothing else") {
  const auto body = dekker({release, acquire});
  const braid::detail::model_options options{.seeds = 2'000};
  const model::report found = braid::detail::model_explore(options, body);
  REQUIRE(says(found, "one sees the other"));
  CHECK(says(found, "seed " + std::to_string(found.seed)));
  CHECK(says(found, "schedule " + found.schedule));

  const model::report again = braid::detail::model_explore({.seeds = 1, .first_seed = found.seed}, body);
  CHECK(again.failure == found.failure);
  const model::report replayed = braid::detail::model_replay(found.schedule, options, body);
  CHECK(says(replayed, "one sees the other"));
  CHECK(replayed.runs == 1);
  CHECK(braid::detail::model_replay("0", options, body).failure == "");
  CHECK(braid::detail::model_replay("not a schedule", options, body).failure == "");

  const model::report first = braid::detail::model_explore_all(options, body);
  CHECK(says(braid::detail::model_replay(first.schedule, options, body), "one sees the other"));
}

TEST_CASE("the report of a failure says what every thread did, where, and how old what it read was") {
  const model::report found = model::explore_all({}, message({relaxed, relaxed}));
  CHECK(says(found, "data race: thread 2 reads what thread 1 wrote"));
  CHECK(says(found, "  thread 1: a0 store 1, relaxed, explorations.hpp:"));
  CHECK(says(found, "  thread 2: a0 load 1, relaxed, explorations.hpp:"));
  CHECK(says(model::explore_all({}, dekker({relaxed, relaxed})), "load 0, 1 older than the newest, relaxed"));
}

TEST_CASE("what is wrong with a run itself is a failure") {
  atomic<int> word{0};
  const auto spin = [&](model::run& r) {
    r.thread([&] {
      while (word.load(relaxed) == 0) {}
    });
    r.join();
  };
  CHECK(says(model::explore_all({.steps = 50}, spin), "no end after 50 steps"));
  const auto thrower = [](model::run& r) {
    r.thread([] { throw std::runtime_error("a reason"); });
    r.join();
  };
  CHECK(says(model::explore_all({}, thrower), "an exception escaped from thread 1: a reason"));
  const auto odd_thrower = [](model::run&) { throw 7; };
  CHECK(says(model::explore_all({}, odd_thrower), "an exception escaped from thread 0 that is not a std::exception"));
  const auto crowd = [](model::run& r) {
    for (int i = 0; i < 8; ++i) r.thread([] {});
    r.join();
  };
  CHECK(says(model::explore_all({}, crowd), "more than 8 threads"));
  const auto join_by_thread = [](model::run& r) {
    r.thread([&r] { r.join(); });
    r.join();
  };
  CHECK(says(model::explore_all({}, join_by_thread), "only the body of a run may join"));
  CHECK(says(model::explore_all({}, [](model::run& r) { r.thread([] {}); }), "ended before its threads"));
}

TEST_CASE("a loop that yields ends when what it waits for comes") {
  must_pass([](model::run& r) {
    atomic<bool> done{false};
    r.thread([&] {
      while (!done.load(relaxed)) r.yield();
    });
    r.thread([&] { done.store(true, relaxed); });
    r.join();
  });
}

TEST_CASE("plain objects may be read by all, and written by one after another") {
  const auto body = [](bool locked, bool write) {
    return [=](model::run& r) {
      model::mutex lock;
      model::shared<int> value{0};
      for (int i = 0; i < 2; ++i)
        r.thread([&] {
          if (locked) lock.lock();
          const int seen = value;
          if (write) value = seen + 1;
          if (locked) lock.unlock();
        });
      r.join();
      r.check(value == (write ? 2 : 0), "every write counts");
    };
  };
  must_pass(body(false, false));
  must_pass(body(true, true));
  must_fail(body(false, true), "data race");
}

TEST_CASE("atomics outside of a run are real, and runs begin with their value and leave it") {
  atomic<int> value{1};
  CHECK(value.exchange(5, relaxed) == 1);
  CHECK(value.fetch_sub(2, relaxed) == 5);
  must_pass([&](model::run& r) {
    r.check(value.load(relaxed) == 3, "it begins with the value from before");
    value.store(4, relaxed);
  });
  CHECK(value.load(relaxed) == 3);
}

namespace {

enum class colour : std::uint8_t { red, green };

template <typename Check>
void try_all_operations(const Check& check) {
  atomic<std::int8_t> small{-1};
  check(small.fetch_add(-1, relaxed) == -1 && small.load(relaxed) == -2);
  check(small.fetch_sub(1, relaxed) == -2 && small.load(relaxed) == -3);
  atomic<unsigned> bits{0b1100};
  check(bits.fetch_or(0b0011, relaxed) == 0b1100 && bits.fetch_and(0b0110, relaxed) == 0b1111);
  check(bits.load() == 0b0110);
  std::array<int, 3> numbers{};
  atomic<int*> pointer{numbers.data()};
  check(pointer.fetch_add(2, relaxed) == numbers.data() && pointer.fetch_sub(1, relaxed) == numbers.data() + 2);
  check(pointer.load(relaxed) == numbers.data() + 1);
  atomic<colour> paint{colour::red};
  auto seen = colour::green;
  check(!paint.compare_exchange_strong(seen, colour::green) && seen == colour::red);
  check(paint.compare_exchange_strong(seen, colour::green, release) && paint.load(acquire) == colour::green);
  atomic<bool> flag;
  check(!flag.exchange(true) && flag.load() && flag.is_lock_free());
}

}  // namespace

TEST_CASE("every operation means the same inside and outside of a run") {
  try_all_operations([](bool holds) { CHECK(holds); });
  must_pass([](model::run& r) { try_all_operations([&r](bool holds) { r.check(holds, "an operation"); }); });
}

TEST_CASE("an order that is weakened by the explorer is found to be needed, or not") {
  const auto body = [](model::run& r) {
    model::shared<int> value{0};
    atomic<bool> ready{false};
    atomic<int> looks{0};
    r.thread([&] {
      value = 7;
      ready.store(true, release);
    });
    r.thread([&] {
      looks.fetch_add(1, acq_rel);
      if (ready.load(acquire)) r.check(value == 7, "the message arrived");
    });
    r.join();
  };
  const auto not_needed = model::orders_not_needed("model_explorer_model.cpp", {}, {body});
  CHECK(not_needed.starts_with("model_explorer_model.cpp:"));
  CHECK(not_needed.find(' ') == not_needed.size() - 1);
  CHECK(model::explore_all({}, body).ordered.size() == 3);
  CHECK(model::orders_not_needed("other.hpp", {}, {body}) == "the bodies come to no order of other.hpp");
}
