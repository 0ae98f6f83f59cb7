// src/runtime/runtime.cpp: starting the parts of a runtime, and stopping them in the order that loses nothing.
#include <braid/runtime/runtime.hpp>

#include <braid/base/assert.hpp>
#include <braid/sync/parker.hpp>
#include <braid/thread/name.hpp>

#include <string_view>
#include <system_error>

namespace braid {

auto runtime::create(runtime_options options) -> result<std::unique_ptr<runtime>> {
  auto io = loop::create({.on_error = options.on_error});
  if (!io) return fail(io.error());
  try {
    return std::unique_ptr<runtime>(new runtime(std::move(options), std::move(*io)));
  } catch (const std::system_error& refused) {
    return fail(refused.code());
  }
}

runtime::runtime(runtime_options options, std::unique_ptr<loop> io)
    : loop_(std::move(io)),
      pool_(std::make_unique<pool>(
          pool_options{.workers = options.workers, .name = options.name, .on_error = std::move(options.on_error)})) {
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
  BRAID_EXPECTS(!loop_->is_current(), "a runtime is not destroyed by a task of its own");
  // Tasks of the loop may wait for workers, so the loop ends first; a worker may be about to wake the loop, so the
  // workers end before the loop's object does.
  loop_->stop();
  loop_thread_.join();
  pool_.reset();
}

}  // namespace braid
