// tests/support/run_on_loop.hpp: a task on an event loop with a real clock, on the test's own thread.
#pragma once

#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>

#include <functional>
#include <stdexcept>
#include <utility>

namespace braid::testing {

namespace detail {

inline auto run_and_stop(loop& io, const std::function<task<void>(loop&)>& body, outcome<void>& ended) -> task<void> {
  task<void> work = body(io);
  ended = co_await as_outcome(std::move(work));
  io.stop();
}

}  // namespace detail

/// Runs `body(loop)` to its end; what it throws is thrown here.
inline void run_on_loop(const std::function<task<void>(loop&)>& body) {
  const auto io = loop::create().value();
  outcome<void> ended;
  io->run([&] { io->spawn(detail::run_and_stop(*io, body, ended)); });
  if (ended.is_stopped()) throw std::runtime_error("the task was stopped");
  ended.take();
}

}  // namespace braid::testing
