// bench/http/braid.cpp: braid's server on one loop, with each backend; and on runtimes of each shape, whose one worker
// computes as well.
#include <bench/harness/constant_load.hpp>
#include <bench/harness/moment.hpp>
#include <bench/harness/posting.hpp>
#include <bench/harness/tally.hpp>
#include <bench/http/cases.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

namespace {

using bench::parameters;
using bench::sample;
using braid::http_exchange;

void say_hello(http_exchange& x) { x.reply(braid::http_status::ok, "text/plain", bench::hello_text); }

auto serve(braid::http_server& server, braid::stream_listener listener) -> braid::task<void> {
  static_cast<void>(co_await server.serve(std::move(listener)));
}

template <braid::io_backend::kind Kind>
auto hello(const parameters& given) -> sample {
  return bench::timed_server(given, [](auto ready) {
    const auto io = braid::loop::create({.backend = Kind}).value();
    braid::http_router routes;
    routes.get("/", &say_hello);
    braid::http_server server(*io, routes);
    io->run([&] {
      auto listener = braid::stream_listener::listen(*io, braid::socket_address::loopback(0)).value();
      const auto port = listener.local_address().value().port();
      io->spawn(serve(server, std::move(listener)));
      ready(port);
    });
  });
}

/// A runtime of one worker that serves, and computes in tasks of one length.
class busy_server {
 public:
  busy_server(braid::runtime_shape shape, std::uint64_t steps)
      : all_(braid::runtime::create({.workers = 1, .shape = shape}).value()), steps_(steps) {
    routes_.get("/", &say_hello);
    routes_.get("/tasks", [this](http_exchange& x) {
      x.reply(braid::http_status::ok, "text/plain",
              std::to_string(bench::tally::sum()) + " " + std::to_string(taken_ns_.load(std::memory_order_relaxed)));
    });
  }

  /// Gives the port.
  auto listen() -> std::uint16_t {
    braid::loop& on = *all_->loops().front();
    return braid::sync_wait(on, begin_on(on));
  }

  /// Tasks that take so much of the worker from now on.
  void compute(std::uint64_t percent) {
    if (percent >= 100)
      load_.emplace(*this, bench::tasks_per_worker, steps_);
    else if (percent > 0)
      static_cast<void>(all_->post(post_due(percent)));
  }

  /// Notes what it takes of a processor.
  template <typename Fn>
  void post(Fn fn) {
    auto measured = [this, fn = std::move(fn)]() mutable {
      const double begin_ns = bench::thread_cpu_ns();
      fn();
      taken_ns_.fetch_add(static_cast<std::uint64_t>(bench::thread_cpu_ns() - begin_ns), std::memory_order_relaxed);
    };
    static_cast<void>(braid::post(all_->workers(), std::move(measured)));
  }

 private:
  static constexpr std::uint64_t max_waiting = 20;  // a server that has fallen behind drops tasks

  auto begin_on(braid::loop& on) -> braid::task<std::uint16_t> {
    auto listener = braid::stream_listener::listen(on, braid::socket_address::loopback(0)).value();
    const auto port = listener.local_address().value().port();
    server_ = std::make_unique<braid::http_server>(on, routes_);
    on.spawn(serve(*server_, std::move(listener)));
    co_return port;
  }

  /// Each millisecond as many as are due by then.
  auto post_due(std::uint64_t percent) -> braid::task<void> {
    const std::int64_t begin_ns = bench::now_ns();
    for (std::uint64_t seen = 0;;) {
      co_await braid::sleep_for(std::chrono::milliseconds(1));
      const auto passed_us = static_cast<std::uint64_t>(bench::now_ns() - begin_ns) / 1'000;
      const std::uint64_t due = passed_us * percent / 100 / bench::own_task_us;
      for (; seen < due; ++seen) {
        if (waiting_.load(std::memory_order_relaxed) >= max_waiting) continue;
        waiting_.fetch_add(1, std::memory_order_relaxed);
        post([this] {
          bench::work_for(steps_);
          bench::tally::count();
          waiting_.fetch_sub(1, std::memory_order_relaxed);
        });
      }
    }
  }

  std::unique_ptr<braid::runtime> all_;
  std::uint64_t steps_;
  std::atomic<std::uint64_t> taken_ns_{0};  // what tasks have had of processors; written by them
  std::atomic<std::uint64_t> waiting_{0};   // tasks of `post_due` that have not ended; written by it and by them
  braid::http_router routes_;
  std::unique_ptr<braid::http_server> server_;
  std::optional<bench::constant_load<busy_server>> load_;
};

template <braid::runtime_shape Shape>
auto hello_with_tasks(const parameters& given) -> sample {
  const std::uint64_t percent = given.number("tasks_percent", 100);
  const std::uint64_t steps = bench::steps_of(bench::own_task_us * 1'000);
  const auto serve_and_compute = [=](auto ready) {
    busy_server server(Shape, steps);
    const std::uint16_t port = server.listen();
    server.compute(percent);
    ready(port);
    for (;;) ::pause();  // until the process is killed
  };
  sample measured = bench::timed_server(given, serve_and_compute, bench::own_tasks::counted);
  if (percent > 0 && !measured.extra.contains("per_task_us")) measured.is_right = false;  // it has not computed
  return measured;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using braid::io_backend;
  using braid::runtime_shape;
  return bench::run_program(
      count, arguments, "http",
      {{"hello", bench::braid_contender("braid, io_uring"), &hello<io_backend::kind::uring>},
       {"hello", bench::braid_contender("braid, epoll"), &hello<io_backend::kind::epoll>},
       {"hello_with_tasks", bench::braid_contender("braid merged"), &hello_with_tasks<runtime_shape::merged>},
       {"hello_with_tasks", bench::braid_contender("braid separate"), &hello_with_tasks<runtime_shape::separate>}});
}
