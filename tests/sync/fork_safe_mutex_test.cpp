// tests/sync/fork_safe_mutex_test.cpp: in the child of a fork the lock is free, and what it guards is whole.
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using braid::detail::fork_safe_mutex;

namespace {

constinit fork_safe_mutex of_process;

/// Two numbers that are the same whenever nobody holds the lock.
struct twins {
  fork_safe_mutex& lock;
  long one = 0;
  long other = 0;

  void grow() {
    const std::lock_guard guard(lock);
    ++one;
    for (int i = 0; i < 100; ++i) asm volatile("" ::: "memory");
    ++other;
  }
  [[nodiscard]] auto are_same() -> bool {
    const std::lock_guard guard(lock);
    return one == other;
  }
};

/// What `fn` says in a child of this process, which has a while for it.
template <typename Fn>
auto holds_in_child(Fn fn) -> bool {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(fn() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a child takes the locks that threads of the parent held all the time") {
  fork_safe_mutex own;
  twins first{of_process};
  twins second{own};
  braid::atomic<bool> is_over{false};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!is_over.load(braid::relaxed)) {
        first.grow();
        second.grow();
      }
    });
  for (int round = 0; round < 100; ++round)
    CHECK(holds_in_child([&] { return first.are_same() && second.are_same(); }));
  is_over.store(true, braid::relaxed);
  threads.clear();
  CHECK(first.are_same());
  CHECK(second.are_same());
}

TEST_CASE("several threads may fork at once, and locks come and go meanwhile") {
  braid::atomic<int> good{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&good] {
      for (int round = 0; round < 20; ++round) {
        std::optional<fork_safe_mutex> passing(std::in_place);
        twins pair{*passing};
        pair.grow();
        fork_safe_mutex unused;
        if (holds_in_child([&] { return pair.are_same() && twins{of_process}.are_same(); }))
          good.fetch_add(1, braid::relaxed);
        passing.reset();
      }
    });
  threads.clear();
  CHECK(good.load(braid::relaxed) == 60);
}
