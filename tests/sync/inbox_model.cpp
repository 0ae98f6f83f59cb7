// tests/sync/inbox_model.cpp: under no schedule does an inbox lose, double or reorder a callable, or let its owner
// sleep beside one.
#include <braid/sync/detail/inbox.hpp>

#include <braid/sync/detail/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using braid::atomic;
using braid::relaxed;
using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;
using braid::detail::parker;
using braid::detail::post_outcome;
namespace model = braid::model;

namespace {

/// Memory where callables lie, as the explorer sees it: one that is made there writes a plain value, one that runs or
/// ends reads it. So using memory again too early is a race, and so is looking at what is not there yet.
class watched_memory {
 public:
  watched_memory() { current = this; }
  watched_memory(const watched_memory&) = delete;
  auto operator=(const watched_memory&) -> watched_memory& = delete;
  ~watched_memory() { forget(); }

  static void forget() { current = nullptr; }

  static void made(const void* at) {
    if (current != nullptr) current->cell_of(at) = 1;
  }
  static void used(const void* at) {
    if (current != nullptr) static_cast<void>(current->cell_of(at) == 1);
  }

 private:
  struct cell {
    const void* at = nullptr;
    model::shared<int> value;
  };

  auto cell_of(const void* at) -> model::shared<int>& {
    const auto known = [at](const cell& one) { return one.at == at || one.at == nullptr; };
    cell& found = *std::find_if(cells_.begin(), cells_.end(), known);
    found.at = at;
    return found.value;
  }

  static inline watched_memory* current = nullptr;
  std::array<cell, 64> cells_;
};

/// A callable that says that it was run. Threads of a run take turns, so they share a log without more ado.
struct note {
  note(model::run& r, std::vector<int>& in, model::shared<int>& message, int what)
      : run(&r), log(&in), payload(&message), number(what) {}
  note(const note&) = delete;
  auto operator=(const note&) -> note& = delete;
  note(note&& other) noexcept : run(other.run), log(other.log), payload(other.payload), number(other.number) {
    watched_memory::used(&other);
    watched_memory::made(this);
  }
  ~note() { watched_memory::used(this); }

  void operator()() const {
    watched_memory::used(this);
    run->check(*payload == 1, "a callable brings what was written before its post");
    log->push_back(number);
  }

  model::run* run;
  std::vector<int>* log;
  model::shared<int>* payload;
  int number;
};

auto counted(int count) -> std::vector<int> {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(i);
  return out;
}

/// Two of the callables above fill a segment.
constexpr std::size_t segment_size = 64 + 2 * braid::detail::inbox_record::size_of<note> + 16;
using small_inbox = braid::detail::inbox<model::mutex, 2, segment_size>;
using producer = small_inbox::producer;

/// An inbox, and what was run of it.
struct office {
  explicit office(model::run& r, barrier_kind kind = barrier_kind::asymmetric) : run(r), barrier(kind) {}

  auto post(small_inbox& to, producer* through, int number) -> post_outcome {
    auto& payload = payloads[static_cast<std::size_t>(number)];
    payload = 1;
    return to.post_from(through, note(run, log, payload, number));
  }

  void run_all(small_inbox& from) {
    while (from.run_one()) {}
  }

  void check_once_each(int count) {
    std::sort(log.begin(), log.end());
    run.check(log == counted(count), "each callable is run once");
  }

  model::run& run;
  watched_memory memory;
  asymmetric_barrier barrier;
  small_inbox all{barrier};
  std::vector<int> log;
  std::array<model::shared<int>, 8> payloads;
};

/// One producer posts more than a segment holds, and uses one again; the owner runs meanwhile.
void one_producer(model::run& r) {
  office here(r);
  const auto mine = here.all.open_producer();
  for (int i = 0; i < 3; ++i) here.post(here.all, mine.get(), i);
  r.thread([&] {
    for (int i = 3; i < 6; ++i) r.check(here.post(here.all, mine.get(), i) == post_outcome::posted, "it is open");
  });
  r.thread([&] {
    for (int i = 0; i < 4; ++i) here.all.run_one();
  });
  r.join();
  here.run_all(here.all);
  r.check(here.log == counted(6), "a producer's callables are run in order");
}

/// A port of a thread's own and the shared one, to which two threads post, one of them as the first ever.
void own_and_shared(model::run& r) {
  office here(r);
  r.thread([&] {
    const auto mine = here.all.open_producer();
    here.post(here.all, mine.get(), 0);
    here.post(here.all, mine.get(), 1);
    mine->give_back();
  });
  r.thread([&] { here.post(here.all, nullptr, 2); });
  r.thread([&] {
    here.post(here.all, nullptr, 3);
    here.all.run_one();
  });
  r.join();
  here.run_all(here.all);
  r.check(std::find(here.log.begin(), here.log.end(), 0) < std::find(here.log.begin(), here.log.end(), 1),
          "a producer's callables are run in order");
  here.check_once_each(4);
}

/// A port changes hands while what its first producer has posted is being run.
void next_producer(model::run& r) {
  office here(r);
  const auto first = here.all.open_producer();
  r.thread([&] {
    here.post(here.all, first.get(), 0);
    first->give_back();
  });
  r.thread([&] {
    if (first->try_use())
      here.post(here.all, first.get(), 1);
    else
      here.post(here.all, nullptr, 1);
  });
  r.thread([&] { here.all.run_one(); });
  r.join();
  here.run_all(here.all);
  here.check_once_each(2);
}

/// The owner runs, a thief moves half to its own inbox and runs it, and the producer posts.
void owner_and_thief(model::run& r) {
  office here(r);
  small_inbox stolen(here.barrier);
  const auto mine = here.all.open_producer();
  const auto thiefs = stolen.open_producer();
  here.post(here.all, mine.get(), 0);
  here.post(here.all, mine.get(), 1);
  r.thread([&] {
    here.all.run_one();
    here.all.run_one();
  });
  r.thread([&] {
    static_cast<void>(stolen.steal_half_from(here.all, *thiefs));
    stolen.run_one();
  });
  r.thread([&] { here.post(here.all, mine.get(), 2); });
  r.join();
  here.run_all(here.all);
  here.run_all(stolen);
  here.check_once_each(3);
}

/// The owner runs what it has claimed while a thief passes by, and the producer goes on where that lay if it may.
void passed_by(model::run& r) {
  office here(r);
  small_inbox stolen(here.barrier);
  const auto mine = here.all.open_producer();
  const auto thiefs = stolen.open_producer();
  for (int i = 0; i < 4; ++i) here.post(here.all, mine.get(), i);
  small_inbox::work held = here.all.claim();
  r.thread([&] {
    held.run();
    held = {};
  });
  r.thread([&] { r.check(stolen.steal_half_from(here.all, *thiefs) == 2, "three are left"); });
  r.thread([&] { here.post(here.all, mine.get(), 4); });
  r.join();
  here.run_all(stolen);
  here.run_all(here.all);
  r.check(here.log == counted(5), "a producer's callables are run in order");
}

/// A thief takes from another one, which may still be at its steal.
void stolen_twice(model::run& r) {
  office here(r);
  small_inbox stolen(here.barrier);
  small_inbox again(here.barrier);
  const auto mine = here.all.open_producer();
  const auto thiefs = stolen.open_producer();
  const auto others = again.open_producer();
  here.post(here.all, mine.get(), 0);
  r.thread([&] { static_cast<void>(stolen.steal_half_from(here.all, *thiefs)); });
  r.thread([&] {
    static_cast<void>(again.steal_half_from(stolen, *others));
    again.run_one();
  });
  r.join();
  here.run_all(stolen);
  here.check_once_each(1);
}

/// Somebody drops everything while the owner runs and the producer posts.
void dropped(model::run& r) {
  office here(r);
  const auto mine = here.all.open_producer();
  for (int i = 0; i < 3; ++i) here.post(here.all, mine.get(), i);
  r.thread([&] {
    here.all.run_one();
    here.all.run_one();
  });
  r.thread([&] { here.all.drop_all(); });
  r.thread([&] { here.post(here.all, mine.get(), 3); });
  r.join();
  here.run_all(here.all);
  r.check(std::is_sorted(here.log.begin(), here.log.end()), "a producer's callables are run in order");
  r.check(std::adjacent_find(here.log.begin(), here.log.end()) == here.log.end(), "none is run twice");
}

/// Claims end in another order than they began, while others pass by.
void held_across(model::run& r) {
  office here(r);
  const auto mine = here.all.open_producer();
  for (int i = 0; i < 3; ++i) here.post(here.all, mine.get(), i);
  r.thread([&] {
    small_inbox::work first = here.all.claim();
    small_inbox::work second = here.all.claim();
    here.all.run_one();
    first.run();
    first = {};
    here.all.run_one();
    second.run();
    second = {};
    here.run_all(here.all);
  });
  r.thread([&] {
    for (int i = 3; i < 7; ++i) here.post(here.all, mine.get(), i);
  });
  r.join();
  here.run_all(here.all);
  here.check_once_each(7);
}

/// A thread that finds the inbox empty sees what the owner wrote before it took the last callable.
void taken(model::run& r) {
  office here(r);
  const auto mine = here.all.open_producer();
  model::shared<int> busy{0};
  here.post(here.all, mine.get(), 0);
  r.thread([&] {
    busy = 1;
    here.all.run_one();
  });
  r.thread([&] {
    if (here.all.empty()) r.check(busy == 1, "who took it is seen");
  });
  r.join();
}

/// The same with a thief; what it has taken lies in its own inbox then.
void stolen_from(model::run& r) {
  office here(r);
  small_inbox stolen(here.barrier);
  const auto mine = here.all.open_producer();
  const auto thiefs = stolen.open_producer();
  model::shared<int> busy{0};
  here.post(here.all, mine.get(), 0);
  r.thread([&] {
    busy = 1;
    r.check(stolen.steal_half_from(here.all, *thiefs) == 1, "it is there");
  });
  r.thread([&] {
    if (!here.all.empty()) return;
    r.check(busy == 1, "who took it is seen");
    r.check(!stolen.empty(), "what was taken is always somewhere");
  });
  r.join();
  here.run_all(stolen);
}

/// Somebody closes the inbox while a producer posts, and then runs everything.
template <bool ByPort>
void closing(model::run& r) {
  office here(r);
  int accepted = 0;
  bool closed = false;
  r.thread([&] {
    const auto mine = ByPort ? here.all.open_producer() : nullptr;
    for (int i = 0; i < 2; ++i)
      if (here.post(here.all, mine.get(), i) == post_outcome::posted) ++accepted;
  });
  r.thread([&] {
    here.all.close();
    here.run_all(here.all);
    closed = true;
    r.check(here.all.empty(), "after a close nothing comes");
  });
  r.join();
  r.check(closed && static_cast<int>(here.log.size()) == accepted, "what was accepted before the close is there");
}

enum class fault : std::uint8_t { none, no_heavy, looks_first };

/// The owner sleeps when there is nothing; a poster wakes it when it has announced that it sleeps.
template <fault Fault, barrier_kind Kind = barrier_kind::asymmetric, bool ByPort = true>
void sleeping_owner(model::run& r) {
  office here(r, Kind);
  parker sleep;
  atomic<int> asleep{0};
  r.thread([&] {
    while (here.log.size() < 2) {
      if (here.all.run_one()) continue;
      const bool early = here.all.empty();
      asleep.store(1, relaxed);
      if (Fault != fault::no_heavy) here.barrier.heavy();
      const bool nothing = Fault == fault::looks_first ? early : here.all.empty();
      if (nothing || asleep.exchange(0, relaxed) == 0) sleep.park();
    }
  });
  r.thread([&] {
    const auto mine = ByPort ? here.all.open_producer() : nullptr;
    for (int i = 0; i < 2; ++i) {
      here.post(here.all, mine.get(), i);
      if (asleep.load(relaxed) == 1 && asleep.exchange(0, relaxed) == 1) sleep.unpark();
    }
  });
  r.join();
}

/// A thief moves what it steals to an inbox that somebody is closing.
void steal_and_close(model::run& r) {
  office here(r);
  small_inbox stolen(here.barrier);
  const auto mine = here.all.open_producer();
  const auto thiefs = stolen.open_producer();
  here.post(here.all, mine.get(), 0);
  r.thread([&] { static_cast<void>(stolen.steal_half_from(here.all, *thiefs)); });
  r.thread([&] {
    stolen.close();
    here.post(stolen, nullptr, 1);
  });
  r.join();
  here.run_all(stolen);
  r.check(here.log == counted(1), "a thief goes on, and nobody else posts");
}

/// A worker goes to sleep while a thief moves what it steals to its inbox.
void steal_and_sleep(model::run& r) {
  office here(r);
  small_inbox stolen(here.barrier);
  const auto mine = here.all.open_producer();
  const auto thiefs = stolen.open_producer();
  here.post(here.all, mine.get(), 0);
  atomic<int> asleep{0};
  bool woken = false;
  bool seen = false;
  r.thread([&] {
    r.check(stolen.steal_half_from(here.all, *thiefs) == 1, "it is there");
    woken = asleep.load(relaxed) == 1;
  });
  r.thread([&] {
    asleep.store(1, relaxed);
    here.barrier.heavy();
    seen = !stolen.empty();
  });
  r.join();
  r.check(woken || seen, "what was stolen is seen, or who sleeps is");
}

/// The owner and another count in plain data inside a section.
template <barrier_kind Kind>
void section(model::run& r) {
  asymmetric_barrier barrier(Kind);
  braid::detail::biased_section<model::mutex> inside(barrier);
  model::shared<int> count{0};
  const auto add = [&] { return (count = count + 1) == 0; };
  r.thread([&] {
    for (int i = 0; i < 2; ++i) inside.own(add);
  });
  r.thread([&] { inside.revoke(add); });
  r.join();
  r.check(count == 3, "nobody counted while another did");
}

void holds(void (*body)(model::run&), unsigned preemptions = 2) {
  const model::report all = model::explore_all({.preemptions = preemptions, .surprises = 1}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 5'000, .preemptions = 8, .surprises = 4}, body).failure == "");
}

}  // namespace

TEST_CASE("what one producer posts is run in order, from segment to segment") { holds(one_producer); }

TEST_CASE("producers with and without a port of their own lose nothing") { holds(own_and_shared); }

TEST_CASE("a port goes on where its last producer left it") { holds(next_producer); }

TEST_CASE("memory is used again when all that lay there is done with") {
  holds(passed_by);
  holds(held_across);
}

TEST_CASE("who finds an inbox empty sees who has taken what was there") {
  holds(taken, 3);
  holds(stolen_from, 3);
}

TEST_CASE("the section holds its owner or one other") {
  holds(section<barrier_kind::asymmetric>, 3);
  holds(section<barrier_kind::symmetric>, 2);
}

TEST_CASE("a callable goes to the owner, to a thief, or to who drops it") {
  holds(owner_and_thief, 1);
  holds(stolen_twice);
  holds(dropped, 1);
}

TEST_CASE("a close splits posts into those that are there and those that are refused") {
  holds(closing<true>);
  holds(closing<false>);
  holds(steal_and_close);
}

TEST_CASE("the owner does not sleep beside a callable") {
  holds(sleeping_owner<fault::none>);
  holds(sleeping_owner<fault::none, barrier_kind::symmetric>, 1);
  holds(sleeping_owner<fault::none, barrier_kind::asymmetric, false>, 1);
  holds(steal_and_sleep);
}

TEST_CASE("every order and every barrier of the inbox is needed") {
  const auto survivors = [](const char* header, const std::vector<model::body>& bodies) {
    return model::orders_not_needed(header, {.preemptions = 2, .surprises = 1}, bodies);
  };
  const std::vector<model::body> small{steal_and_close,
                                       steal_and_sleep,
                                       closing<true>,
                                       closing<false>,
                                       sleeping_owner<fault::none>,
                                       sleeping_owner<fault::none, barrier_kind::asymmetric, false>};
  // The ends of inbox.producer: what they pass on is plain data, and the explorer does not see it.
  CHECK(model::but_for_edge("inbox.producer", survivors("inbox.hpp", small), "include/braid/sync/detail/inbox.hpp") ==
        "");
  CHECK(survivors("inbox_producer.hpp", {next_producer, stolen_twice, taken, stolen_from, one_producer, passed_by}) ==
        "");
  CHECK(survivors("biased_section.hpp", {section<barrier_kind::asymmetric>}) == "");
}

TEST_CASE("faults of an owner that goes to sleep are found") {
  const auto failure_of = [](void (*body)(model::run&)) { return model::explore_all({}, body).failure; };
  CHECK(failure_of(sleeping_owner<fault::no_heavy>).starts_with("deadlock"));
  CHECK(failure_of(sleeping_owner<fault::looks_first>).starts_with("deadlock"));
}
