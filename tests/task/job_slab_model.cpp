// tests/task/job_slab_model.cpp: under no schedule does a job of a slab lose what depends on it, or its slot too early.
#include <braid/task/detail/slab_deque.hpp>
#include <braid/task/detail/slab_slot.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using braid::errc;
using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;
using braid::detail::no_slot;
using braid::detail::slab_access;
using braid::detail::slab_deque;
using braid::detail::slab_phase;
using braid::detail::slab_slot;
using braid::detail::slab_step;
namespace model = braid::model;

namespace {

constexpr auto bias_owner = slab_access::bias_owner;
constexpr auto other = slab_access::other;

/// A few slots of one ring, whose owner is the body until it starts its threads.
struct scene {
  explicit scene(std::size_t count) : slots(count) {}

  /// A job that is allocated, in slot `number`.
  auto open(std::uint32_t number) -> std::uint64_t {
    const std::uint64_t generation = slots[number].try_reuse(barrier, bias_owner);
    if (generation != 0) slots[number].open(generation);
    return generation;
  }

  [[nodiscard]] auto is_finished(std::uint32_t number) const -> bool {
    return slab_slot::is_finished(slots[number].word());
  }

  void queue(std::uint32_t number, std::uint64_t generation) {
    static_cast<void>(slots[number].claim(barrier, generation, slab_phase::queued, bias_owner));
  }

  auto append(std::uint32_t first, std::uint64_t generation, std::uint32_t next) -> slab_step {
    return slots[first].append(barrier, generation, next, slots.data(), other);
  }

  /// What the thread does that runs a finished job's followers: how many there were.
  auto follow(std::uint32_t number, std::vector<std::uint32_t>& order) -> int {
    int count = 0;
    for (;;) {
      std::uint32_t next = slots[number].take_followers(barrier);
      if (next == no_slot) return count;
      for (; next != no_slot; next = slots[next].link(), ++count) order.push_back(next);
    }
  }

  asymmetric_barrier barrier{barrier_kind::asymmetric};
  std::vector<slab_slot> slots;
};

/// One thread runs the job to its end; two others append to it. The thread that is to queue the followers runs them.
void finish_and_append(model::run& r) {
  scene s(3);
  const std::uint64_t generation = s.open(0);
  for (const std::uint32_t next : {1U, 2U})
    static_cast<void>(s.slots[next].claim(s.barrier, s.open(next), slab_phase::promised, bias_owner));
  s.queue(0, generation);
  model::shared<int> inside{0};
  int runs = 0;
  std::vector<std::uint32_t> order;
  const auto follow = [&] {
    inside = 1;  // a race, if two threads believe that the followers are theirs
    runs += s.follow(0, order);
  };
  r.thread([&] {
    const slab_step step = s.slots[0].end_body(s.barrier, 0);
    r.check(step.finished, "a job without children finishes with its callable");
    if (step.followed) follow();
  });
  r.thread([&] {
    for (const std::uint32_t next : {1U, 2U}) {
      const slab_step step = s.append(0, generation, next);
      r.check(step.refused == errc{}, "nobody has used the slot again");
      if (step.followed) follow();
    }
  });
  r.join();
  r.check(runs == 2, "each ran once");
  r.check(order == std::vector<std::uint32_t>{1, 2}, "in order");
}

/// The owner still adds to a job that another thread schedules and runs.
void owner_and_foreign_schedule(model::run& r) {
  scene s(2);
  const std::uint64_t generation = s.open(0);
  static_cast<void>(s.slots[1].claim(s.barrier, s.open(1), slab_phase::promised, bias_owner));
  std::vector<std::uint32_t> order;
  int runs = 0;
  r.thread([&] {
    const slab_step step = s.slots[0].append(s.barrier, generation, 1, s.slots.data(), bias_owner);
    if (step.followed) runs += s.follow(0, order);
  });
  r.thread([&] {
    r.check(s.slots[0].claim(s.barrier, generation, slab_phase::queued, other) == errc{}, "it was only allocated");
    const slab_step step = s.slots[0].end_body(s.barrier, 0);
    if (step.followed) runs += s.follow(0, order);
  });
  r.join();
  r.check(runs == 1, "it ran once");
}

/// A child is added while the parent ends, and ends itself.
void finish_and_add_child(model::run& r) {
  scene s(1);
  const std::uint64_t generation = s.open(0);
  s.queue(0, generation);
  int finished = 0;
  bool refused = false;
  model::shared<int> work{0};
  bool child_works = false;
  r.thread([&] {
    if (s.slots[0].end_body(s.barrier, 0).finished) {
      ++finished;
      if (child_works) r.check(work == 1, "the parent finishes after its child");
    }
  });
  r.thread([&] {
    refused = s.slots[0].add_child(s.barrier, generation, other) == errc::finished;
    if (refused) return;
    r.check(!s.is_finished(0), "held open");
    child_works = true;
    work = 1;
    if (s.slots[0].end_child(s.barrier).finished) ++finished;
  });
  r.join();
  r.check(finished == 1, "finished once");
  r.check(s.is_finished(0), "and seen to be");
}

/// The last child of a job whose callable has ended ends while another is added.
void last_child_and_another(model::run& r) {
  scene s(1);
  const std::uint64_t generation = s.open(0);
  static_cast<void>(s.slots[0].add_child(s.barrier, generation, bias_owner));
  s.queue(0, generation);
  static_cast<void>(s.slots[0].end_body(s.barrier, 0));
  int finished = 0;
  r.thread([&] { finished += s.slots[0].end_child(s.barrier).finished ? 1 : 0; });
  r.thread([&] {
    if (s.slots[0].add_child(s.barrier, generation, other) != errc{}) return;
    r.check(!s.is_finished(0), "held open");
    finished += s.slots[0].end_child(s.barrier).finished ? 1 : 0;
  });
  r.join();
  r.check(finished == 1, "finished once");
}

/// Two children end at once, and the parent with them; another thread appends.
void children_and_append(model::run& r) {
  scene s(2);
  const std::uint64_t generation = s.open(0);
  static_cast<void>(s.slots[1].claim(s.barrier, s.open(1), slab_phase::promised, bias_owner));
  r.check(s.slots[0].add_child(s.barrier, generation, bias_owner) == errc{}, "it is only allocated");
  s.queue(0, generation);
  int finished = 0;
  int runs = 0;
  std::vector<std::uint32_t> order;
  const auto settle = [&](const slab_step& step) {
    if (step.finished) ++finished;
    if (step.followed) runs += s.follow(0, order);
  };
  r.thread([&] { settle(s.slots[0].end_body(s.barrier, 0)); });
  r.thread([&] { settle(s.slots[0].end_child(s.barrier)); });
  r.thread([&] { settle(s.append(0, generation, 1)); });
  r.join();
  r.check(finished == 1, "finished once");
  r.check(runs == 1, "continued once");
}

/// The owner uses a slot again while another copies the result out of it.
void reuse_and_pin(model::run& r) {
  scene s(1);
  const std::uint64_t generation = s.open(0);
  s.queue(0, generation);
  model::shared<int> payload{0};
  payload = 1;
  static_cast<void>(s.slots[0].end_body(s.barrier, 0));
  r.thread([&] {
    const std::uint64_t next = s.slots[0].try_reuse(s.barrier, bias_owner);
    if (next == 0) return;
    payload = 2;
    s.slots[0].open(next);
    s.queue(0, next);
    static_cast<void>(s.slots[0].end_body(s.barrier, 0));
  });
  r.thread([&] {
    if (s.slots[0].pin(s.barrier, generation, other) != errc{}) return;
    r.check(payload == 1, "the result of the job that the handle names");
    s.slots[0].unpin(s.barrier);
  });
  r.join();
}

/// Two threads move the same result out.
void take_twice(model::run& r) {
  scene s(1);
  const std::uint64_t generation = s.open(0);
  s.queue(0, generation);
  static_cast<void>(s.slots[0].end_body(s.barrier, 0));
  model::shared<int> payload{1};
  int moved = 0;
  for (int i = 0; i < 2; ++i)
    r.thread([&] {
      if (s.slots[0].pin(s.barrier, generation, other) != errc{}) return;
      if (s.slots[0].try_take(s.barrier)) {
        payload = 0;
        ++moved;
      }
      s.slots[0].unpin(s.barrier);
    });
  r.join();
  r.check(moved == 1, "one of them has it");
}

/// A thread moves a result out, while the owner would use the slot again.
void reuse_and_take(model::run& r) {
  scene s(1);
  const std::uint64_t generation = s.open(0);
  s.queue(0, generation);
  static_cast<void>(s.slots[0].end_body(s.barrier, 0));
  model::shared<int> payload{1};
  bool moved = false;
  bool reused = false;
  r.thread([&] {
    if (s.slots[0].pin(s.barrier, generation, other) != errc{}) return;
    moved = s.slots[0].try_take(s.barrier);
    if (moved) payload = 0;
    s.slots[0].unpin(s.barrier);
  });
  r.thread([&] {
    const std::uint64_t next = s.slots[0].try_reuse(s.barrier, bias_owner);
    if (next == 0) return;
    payload = 2;
    reused = true;
  });
  r.join();
  r.check(moved || reused, "it has the result, unless the slot was used again before");
}

/// A stale handle, while the slot's next job is on its way from one thread to the other.
void reuse_and_stale(model::run& r) {
  scene s(2);
  const std::uint64_t generation = s.open(0);
  s.queue(0, generation);
  static_cast<void>(s.slots[1].claim(s.barrier, s.open(1), slab_phase::promised, bias_owner));
  int runs = 0;
  std::vector<std::uint32_t> order;
  bool appended = false;
  r.thread([&] {
    static_cast<void>(s.slots[0].end_body(s.barrier, 0));
    const std::uint64_t next = s.slots[0].try_reuse(s.barrier, bias_owner);
    if (next == 0) return;
    s.slots[0].open(next);
    r.check(s.slots[0].claim(s.barrier, next, slab_phase::queued, bias_owner) == errc{}, "a new job is untouched");
    const slab_step step = s.slots[0].end_body(s.barrier, 0);
    r.check(!step.followed, "nor has it followers");
  });
  r.thread([&] {
    static_cast<void>(s.slots[0].claim(s.barrier, generation, slab_phase::queued, other));
    const slab_step step = s.append(0, generation, 1);
    appended = step.refused == errc{};
    if (step.followed) runs += s.follow(0, order);
    if (appended && !step.followed) appended = false;  // the other thread would run it; below nobody does
  });
  r.join();
  if (appended) r.check(runs == 1, "what was accepted has run");
}

void finish_and_wait(model::run& r) {
  scene s(1);
  const std::uint64_t generation = s.open(0);
  s.queue(0, generation);
  bool told = false;
  bool slept = false;
  r.thread([&] { told = s.slots[0].end_body(s.barrier, 0).waited; });
  r.thread([&] {
    if (s.slots[0].pin(s.barrier, generation, other) != errc{}) return;
    slept = s.slots[0].announce_waiter(s.barrier);
    s.slots[0].unpin(s.barrier);
  });
  r.join();
  r.check(told == slept, "who sleeps is woken");
}

/// A thread that sees the end sees what was done before it.
void finish_and_look(model::run& r) {
  scene s(1);
  const std::uint64_t generation = s.open(0);
  s.queue(0, generation);
  model::shared<int> work{0};
  r.thread([&] {
    work = 1;
    static_cast<void>(s.slots[0].end_body(s.barrier, 0));
  });
  r.thread([&] {
    if (s.is_finished(0)) r.check(work == 1, "the work");
  });
  r.join();
}

/// A queue whose entries carry something, and what became of them.
struct line {
  line(model::run& of, std::size_t capacity) : r(of), deque(capacity, barrier) {}

  void push(std::uint32_t entry) {
    entries[entry] = 1;
    if (deque.try_push(entry)) ++pushed[entry];
  }
  void pop() {
    std::uint32_t entry = 0;
    if (deque.pop(entry)) take(entry);
  }
  void steal() {
    std::array<std::uint32_t, 2> got{};
    const std::size_t count = deque.steal_half(got);
    for (std::size_t i = 0; i < count; ++i) take(got[i]);
  }
  void take(std::uint32_t entry) {
    r.check(entries[entry] == 1, "what was pushed came with its content");
    ++taken[entry];
  }
  /// After the threads: the owner takes what is left.
  void settle() {
    for (int i = 0; i < 4; ++i) pop();
    r.check(taken == pushed, "each was taken once");
  }

  model::run& r;
  asymmetric_barrier barrier{barrier_kind::asymmetric};
  slab_deque<model::mutex> deque;
  std::array<model::shared<int>, 4> entries{};
  std::array<int, 4> pushed{};
  std::array<int, 4> taken{};
};

void take_and_steal(model::run& r) {
  line all(r, 2);
  all.push(0);
  all.push(1);
  r.thread([&] {
    all.pop();
    all.push(2);
    all.push(3);
  });
  r.thread([&] { all.steal(); });
  r.join();
  all.settle();
}

void push_and_steal(model::run& r) {
  line all(r, 4);
  r.thread([&] {
    all.push(0);
    all.push(1);
    all.pop();
    all.push(2);
  });
  r.thread([&] {
    all.steal();
    all.steal();
  });
  r.join();
  all.settle();
}

void two_thieves(model::run& r) {
  line all(r, 4);
  all.push(0);
  r.thread([&] {
    all.push(1);
    all.pop();
    all.pop();
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { all.steal(); });
  r.join();
  all.settle();
}

constexpr model::options bounds{.preemptions = 2, .surprises = 1};

const std::vector<model::body> slot_bodies{finish_and_append,    owner_and_foreign_schedule,
                                           finish_and_add_child, children_and_append,
                                           reuse_and_pin,        reuse_and_stale,
                                           finish_and_wait,      finish_and_look,
                                           take_twice,           reuse_and_take};
const std::vector<model::body> queue_bodies{take_and_steal, push_and_steal, two_thieves};

void check_all(model::body body) {
  const model::report all = model::explore_all(bounds, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

}  // namespace

TEST_CASE("what is appended while a job finishes runs once, in order, on one thread") { check_all(finish_and_append); }
TEST_CASE("the owner may add to a job that another thread schedules") { check_all(owner_and_foreign_schedule); }
TEST_CASE("a parent finishes once, after its child, or refuses it") { check_all(finish_and_add_child); }
TEST_CASE("a child is not added to a job whose last child has ended") { check_all(last_child_and_another); }
TEST_CASE("the last of a job and its children finishes it, and nothing appended is lost") {
  check_all(children_and_append);
}
TEST_CASE("a slot is not used again while somebody copies out of it") { check_all(reuse_and_pin); }
TEST_CASE("a result that is moved out goes to one thread") { check_all(take_twice); }
TEST_CASE("a slot is not used again while its result is moved out") { check_all(reuse_and_take); }
TEST_CASE("a stale handle changes nothing of the next job") { check_all(reuse_and_stale); }
TEST_CASE("who announces itself before the end is woken") { check_all(finish_and_wait); }
TEST_CASE("who sees the end of a job sees its work") { check_all(finish_and_look); }
TEST_CASE("each entry of a queue is taken once") {
  for (const model::body body : queue_bodies) check_all(body);
}

TEST_CASE("every order of the slots and of their lock is needed") {
  CHECK(model::orders_not_needed("slab_lock.hpp", bounds, slot_bodies) == "");
  CHECK(model::orders_not_needed("slab_slot.hpp", bounds, slot_bodies) == "");
}

TEST_CASE("every order of the queue is needed, but for one edge") {
  // slab_deque.taken keeps a thief's read of an entry from giving what the owner writes there after the theft. Loads of
  // a run do not see the future, so here nothing can go wrong.
  const std::string survivors = model::orders_not_needed("slab_deque.hpp", bounds, queue_bodies);
  CHECK_MESSAGE(std::count(survivors.begin(), survivors.end(), ' ') == 2, survivors);  // its two ends
}
