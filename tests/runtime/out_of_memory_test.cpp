// tests/runtime/out_of_memory_test.cpp: whichever allocation fails, tasks and graphs end, and a runtime is whole or not
// there.
#include <braid/coro/bridge.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/graph/run.hpp>
#include <braid/graph/shape.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/scarce_memory.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace braid;
using testing::fail_everywhere;
using testing::is_shortage;
using testing::run_in_child;
using testing::scarce_memory;
using testing::scarcity;
using testing::survives;
using testing::watchdog;

namespace {

/// A runtime, or what it says when it cannot be made.
auto made() -> std::unique_ptr<runtime> {
  auto created =
      runtime::create({.workers = 2, .on_error = [](const std::exception_ptr& thrown, const error_callback::origin&) {
                         if (!is_shortage(thrown)) std::terminate();
                       }});
  if (created) return std::move(*created);
  CHECK(created.error() == std::errc::not_enough_memory);
  return nullptr;
}

/// Adds one where it runs.
auto count_away(executor& where, std::atomic<int>& count) -> task<void> {
  auto add = [&count, big = std::array<char, 2000>()] { count += 1 + big[0]; };
  auto away = offload(where, add);
  co_await away;
}

/// Nodes that count, each in a place of its own.
struct counting_nodes {
  static constexpr std::array modes = {node_mode::here, node_mode::worker, node_mode::task};

  [[nodiscard]] static auto mode(node_index node) noexcept -> node_mode { return modes[node % modes.size()]; }
  [[nodiscard]] static auto timeout(node_index node) noexcept -> duration { return node == 4 ? 1h : duration::max(); }
  auto run(node_index /*node*/, const stop_flag& /*stop*/) -> node_status {
    ++ran;
    return node_status::done;
  }
  auto start(node_index node) -> task<node_status> {
    co_await sleep_for(1us);
    co_return run(node, stop_flag());
  }

  std::atomic<int> ran{0};
};

}  // namespace

TEST_CASE("the runtime of the process is made and ended, or can be made later") {
  constexpr int failed = 3;
  constexpr int passed = 4;
  const auto attempt = [](long succeed, scarcity then) {
    {
      const scarce_memory scarce(succeed, then);
      const bool there = survives([] {
        if (const auto begun = initialize({.workers = 2}); !begun) throw std::system_error(begun.error());
      });
      if (!there) scarce_memory::end();
      std::atomic<int> ran{0};
      const bool posted = survives([&] {
        if (!post([&ran] { ++ran; })) std::abort();
      });
      if (!finalize(shutdown_mode::drain) || ran != (posted ? 1 : 0)) std::abort();
    }
    ::_exit(testing::failures() == 0 ? passed : failed);
  };
  for (const scarcity then : {scarcity::one, scarcity::rest}) {
    for (long n = 0, clean = 0; clean < 3; ++n) {
      CAPTURE(n);
      const auto end = run_in_child([&] { attempt(n, then); });
      REQUIRE(end.signal == 0);
      REQUIRE((end.status == failed || end.status == passed));
      clean = end.status == passed ? clean + 1 : 0;
    }
  }
}

TEST_CASE("a runtime is made whole, or not at all") {
  const watchdog dog(600s);
  fail_everywhere([] {
    const auto all = made();
    if (all == nullptr) return;
    std::atomic<int> ran{0};
    int accepted = 0;
    survives([&] { accepted += post(all->blocking(), [&ran] { ++ran; }) ? 1 : 0; });
    survives([&] { accepted += post(all->io(), [&ran] { ++ran; }) ? 1 : 0; });
    CHECK(all->shutdown(shutdown_mode::drain));
    CHECK(ran == accepted);
  });
}

TEST_CASE("tasks in scopes end, and what they ran elsewhere came home") {
  const watchdog dog(600s);
  fail_everywhere([] {
    const auto all = made();
    if (all == nullptr) return;
    std::atomic<int> count{0};
    auto whole = [&]() -> task<int> {
      auto children = [&](scope& in) -> task<void> {
        for (int i = 0; i < 3; ++i) in.spawn(count_away(all->workers(), count));
        co_await sleep_for(1us);
        auto last = count_away(all->blocking(), count);
        co_await std::move(last);
      };
      auto inside = with_scope(children);
      co_await std::move(inside);
      co_return count.load();
    };
    if (survives([&] {
          try {
            const int seen = all->run(whole());
            CHECK(seen == 4);
          } catch (const std::system_error& refused) {
            if (refused.code() != errc::closed) throw;  // what a lane says that has no thread and gets none
            throw std::bad_alloc();
          }
        }))
      CHECK(count == 4);
  });
}

TEST_CASE("a task on a pool begins, or its future says that there was no memory for its home") {
  const watchdog dog(600s);
  fail_everywhere([] {
    const auto all = made();
    if (all == nullptr) return;
    std::atomic<int> count{0};
    auto add = [&count]() -> task<void> {
      ++count;
      co_return;
    };
    const bool begun = survives([&] { spawn(all->workers(), add()).get(); });
    CHECK(count == (begun ? 1 : 0));
  });
}

TEST_CASE("the run of a graph is settled and joined") {
  const watchdog dog(600s);
  fail_everywhere([] {
    const auto all = made();
    if (all == nullptr) return;
    counting_nodes nodes;
    auto whole = [&]() -> task<void> {
      const std::vector<graph_shape::edge> edges = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}};
      const graph_shape shape = graph_shape::make(6, edges).value();
      scope in(all->io().root());
      std::exception_ptr thrown;
      {
        graph_run run(shape, nodes, all->workers(), in);
        try {
          run.start();
        } catch (...) {
          thrown = std::current_exception();
          in.request_stop();
        }
        co_await run.join();
        CHECK(run.settled().is_set());
        if (run.failure() && run.failure()->error != nullptr) thrown = run.failure()->error;
      }
      if (thrown != nullptr) std::rethrow_exception(thrown);
      CHECK(nodes.ran == 6);
    };
    survives([&] { all->run(whole()); });
  });
}
