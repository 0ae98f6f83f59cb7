// tests/sync/inbox_model.cpp: under no schedule does an inbox lose, double or reorder a callable, or let its owner
// sleep beside one.
#include <braid/sync/inbox.hpp>

#include <braid/sync/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using braid::asymmetric_barrier;
using braid::atomic;
using braid::barrier_kind;
using braid::parker;
using braid::post_outcome;
using braid::relaxed;
namespace model = braid::model;

namespace {

using small_inbox = braid::inbox<2, model::mutex, 2>;
using port = small_inbox::port;

/// Memory of a port as the explorer sees it: a callable that is made there writes a plain value, one that runs or ends
/// reads it. So filling a slot that is still in use is a race.
class watched_port {
 public:
  explicit watched_port(const port& watched) : begin_(reinterpret_cast<std::uintptr_t>(&watched)) { current = this; }
  watched_port(const watched_port&) = delete;
  auto operator=(const watched_port&) -> watched_port& = delete;
  ~watched_port() { forget(); }

  static void forget() { current = nullptr; }

  static void made(const void* at) {
    if (auto* cell = cell_of(at)) *cell = 1;
  }
  static void used(const void* at) {
    if (auto* cell = cell_of(at)) static_cast<void>(*cell == 1);
  }

 private:
  static auto cell_of(const void* at) -> model::shared<int>* {
    if (current == nullptr) return nullptr;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at) - current->begin_;
    if (offset >= sizeof(port)) return nullptr;
    return &current->cells_[offset / sizeof(braid::detail::inbox_slot) % current->cells_.size()];
  }

  static inline watched_port* current = nullptr;
  std::uintptr_t begin_;
  std::array<model::shared<int>, 8> cells_;
};

/// A callable that says that it was run. Threads of a run take turns, so they share a log without more ado.
struct note {
  note(model::run& r, std::vector<int>& in, model::shared<int>& message, int what)
      : run(&r), log(&in), payload(&message), number(what) {}
  note(const note&) = delete;
  auto operator=(const note&) -> note& = delete;
  note(note&& other) noexcept : run(other.run), log(other.log), payload(other.payload), number(other.number) {
    watched_port::used(&other);
    watched_port::made(this);
  }
  ~note() { watched_port::used(this); }

  void operator()() const {
    watched_port::used(this);
    run->check(*payload == 1, "a callable brings what was written before its post");
    log->push_back(number);
  }

  model::run* run;
  std::vector<int>* log;
  model::shared<int>* payload;
  int number;
};

/// An inbox of rings of two, and what was run of it.
struct office {
  explicit office(model::run& r, barrier_kind kind = barrier_kind::asymmetric) : run(r), barrier(kind) {
    watched_port::forget();  // a run that failed has left it behind
  }

  auto post(small_inbox& to, port* through, int number) -> post_outcome {
    auto& payload = payloads[static_cast<std::size_t>(number)];
    payload = 1;
    return to.post_from(through, note(run, log, payload, number));
  }

  void run_all(small_inbox& from) {
    while (from.run_one()) {}
  }

  void check_once_each(int count) {
    std::sort(log.begin(), log.end());
    std::vector<int> expected;
    for (int i = 0; i < count; ++i) expected.push_back(i);
    run.check(log == expected, "each callable is run once");
  }

  model::run& run;
  asymmetric_barrier barrier;
  small_inbox all{barrier};
  std::vector<int> log;
  std::array<model::shared<int>, 6> payloads;
};

/// One producer posts more than its ring holds; the owner runs meanwhile.
void one_producer(model::run& r) {
  office here(r);
  const auto mine = here.all.open_port();
  const watched_port watch(*mine);
  r.thread([&] {
    for (int i = 0; i < 4; ++i) r.check(here.post(here.all, mine.get(), i) == post_outcome::posted, "it is open");
  });
  r.thread([&] {
    for (int i = 0; i < 3; ++i) here.all.run_one();
  });
  r.join();
  here.run_all(here.all);
  r.check(here.log == std::vector<int>{0, 1, 2, 3}, "a producer's callables are run in order");
}

/// A port and the shared list, into which two threads post, one of them as the first ever.
void port_and_list(model::run& r) {
  office here(r);
  r.thread([&] {
    const auto mine = here.all.open_port();
    here.post(here.all, mine.get(), 0);
    here.post(here.all, mine.get(), 1);
    mine->give_back();
  });
  r.thread([&] { here.post(here.all, nullptr, 2); });
  r.thread([&] {
    for (int i = 0; i < 2; ++i) here.all.run_one();
  });
  r.join();
  here.run_all(here.all);
  r.check(std::find(here.log.begin(), here.log.end(), 0) < std::find(here.log.begin(), here.log.end(), 1),
          "a producer's callables are run in order");
  here.check_once_each(3);
}

/// A port changes hands while what its first producer has posted is being run.
void next_producer(model::run& r) {
  office here(r);
  const auto first = here.all.open_port();
  const watched_port watch(*first);
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
  const auto mine = here.all.open_port();
  const auto thiefs = stolen.open_port();
  const watched_port watch(*mine);
  here.post(here.all, mine.get(), 0);
  here.post(here.all, mine.get(), 1);
  r.thread([&] {
    here.all.run_one();
    here.all.run_one();
  });
  r.thread([&] {
    static_cast<void>(stolen.steal_half_of(here.all, *thiefs));
    stolen.run_one();
  });
  r.thread([&] { here.post(here.all, mine.get(), 2); });
  r.join();
  here.run_all(here.all);
  here.run_all(stolen);
  here.check_once_each(3);
}

/// Somebody closes the inbox while a producer posts, and then runs everything.
template <bool ByPort>
void closing(model::run& r) {
  office here(r);
  int accepted = 0;
  bool closed = false;
  r.thread([&] {
    const auto mine = ByPort ? here.all.open_port() : nullptr;
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

/// The owner sleeps when there is nothing; who posts wakes it when it says that it sleeps.
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
    const auto mine = ByPort ? here.all.open_port() : nullptr;
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
  const auto mine = here.all.open_port();
  const auto thiefs = stolen.open_port();
  here.post(here.all, mine.get(), 0);
  r.thread([&] { static_cast<void>(stolen.steal_half_of(here.all, *thiefs)); });
  r.thread([&] {
    stolen.close();
    here.run_all(stolen);
  });
  r.join();
  r.check(stolen.empty(), "after a close nothing comes");
  here.run_all(here.all);
  here.check_once_each(1);
}

/// A worker goes to sleep while a thief moves what it steals to its inbox.
void steal_and_sleep(model::run& r) {
  office here(r);
  small_inbox stolen(here.barrier);
  const auto mine = here.all.open_port();
  const auto thiefs = stolen.open_port();
  here.post(here.all, mine.get(), 0);
  atomic<int> asleep{0};
  bool woken = false;
  bool seen = false;
  r.thread([&] {
    r.check(stolen.steal_half_of(here.all, *thiefs) == 1, "it is there");
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
  r.thread([&] { inside.lend(add); });
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

TEST_CASE("what one producer posts is run in order, through the list as well") { holds(one_producer); }

TEST_CASE("producers with and without a port lose nothing") { holds(port_and_list); }

TEST_CASE("a port goes on where its last producer left it") { holds(next_producer); }

TEST_CASE("the section holds its owner or one other") {
  holds(section<barrier_kind::asymmetric>, 3);
  holds(section<barrier_kind::symmetric>, 2);
}

TEST_CASE("a callable goes to the owner or to the thief") { holds(owner_and_thief, 1); }

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
    const std::string places = model::orders_not_needed(header, {.preemptions = 2, .surprises = 1}, bodies);
    return std::count(places.begin(), places.end(), ' ');
  };
  const std::vector<model::body> small{steal_and_close,
                                       steal_and_sleep,
                                       closing<true>,
                                       closing<false>,
                                       sleeping_owner<fault::none>,
                                       sleeping_owner<fault::none, barrier_kind::asymmetric, false>};
  // The ends of inbox.port, inbox_port.producer and inbox_port.chunk: what they pass on is plain data or the end of an
  // object's life, and the explorer sees neither.
  CHECK(survivors("inbox.hpp", small) == 5);
  CHECK(survivors("inbox_port.hpp", {next_producer, one_producer}) == 3);
  CHECK(survivors("biased_section.hpp", {section<barrier_kind::asymmetric>}) == 0);
}

TEST_CASE("faults of an owner that goes to sleep are found") {
  const auto failure_of = [](void (*body)(model::run&)) { return model::explore_all({}, body).failure; };
  CHECK(failure_of(sleeping_owner<fault::no_heavy>).starts_with("deadlock"));
  CHECK(failure_of(sleeping_owner<fault::looks_first>).starts_with("deadlock"));
}
