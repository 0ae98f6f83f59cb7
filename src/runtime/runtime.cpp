// src/runtime/runtime.cpp: starting the parts of a runtime, and stopping them in the order that loses nothing.
#include <braid/runtime/runtime.hpp>

#include <braid/base/assert.hpp>
#include <braid/sync/parker.hpp>
#include <braid/thread/name.hpp>

#include <new>
#include <string_view>
#include <system_error>

namespace braid {

auto runtime::create(runtime_options options) -> result<std::unique_ptr<runtime>> {
  try {
    auto io = loop::create({.on_error = options.on_error});
    if (!io) return fail(io.error());
    return std::unique_ptr<runtime>(new runtime(std::move(options), std::move(*io)));
  } catch (const std::system_error& refused) {
    return fail(refused.code());
  } catch (const std::bad_alloc&) {
    return fail(std::make_error_code(std::errc::not_enough_memory));
  }
}

runtime::runtime(runtime_options options, std::unique_ptr<loop> io)
    : loop_(std::move(io)),
      pool_(std::make_unique<pool>(pool_options{.workers = options.workers,
                                                .name = options.name,
                                                .scheduler = options.scheduler,
                                                .on_error = options.on_error})),
      blocking_(std::make_unique<blocking_lane>(blocking_lane_options{
          .most_threads = options.most_blocking_threads, .name = options.name + "-b", .on_error = options.on_error})) {
  parker started;
  constexpr std::string_view suffix = "-loop";
  const std::string loop_name = options.name.substr(0, longest_thread_name - suffix.size()).append(suffix);
  loop_thread_ = std::thread([this, &started, loop_name] {
    static_cast<void>(this_thread::set_name(loop_name));
    loop_->run([&started] { started.unpark(); });
  });
  started.park();
}

runtime::~runtime() {
  BRAID_EXPECTS(!is_current(), "a runtime is not destroyed by a task or a job of its own");
  static_cast<void>(shutdown(shutdown_mode::drain));
}

auto runtime::is_current() const noexcept -> bool {
  return (loop_ != nullptr && loop_->is_current()) || pool_->is_current() || blocking_->is_current();
}

void runtime::stop_loop() {
  if (loop_ == nullptr) return;
  loop_->stop();
  const std::lock_guard lock(join_mutex_);
  if (loop_thread_.joinable()) loop_thread_.join();
}

/// Where jobs are to run, tasks of the loop may wait for them, so the loop ends first. Where they are not, tasks learn
/// of that sooner when the jobs are dropped first. Who blocks may be waited for by workers, and ends last.
auto runtime::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  if (mode == shutdown_mode::drain) stop_loop();
  static_cast<void>(pool_->shutdown(mode));
  static_cast<void>(blocking_->shutdown(mode));
  stop_loop();
  return {};
}

}  // namespace braid
