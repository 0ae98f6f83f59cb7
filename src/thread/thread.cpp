// src/thread/thread.cpp: starts threads with their settings, and joins them.
#include <braid/thread/thread.hpp>

#include "../platform/system.hpp"

#include <braid/base/config.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/thread/profile.hpp>

#include <exception>
#include <utility>

namespace braid {
namespace {

/// A function object that combines several function objects, for std::visit.
template <typename... Cases>
struct cases : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
cases(Cases...) -> cases<Cases...>;

auto status(int code) -> result<void> {
  if (code != 0) return fail(detail::to_error_code(code));
  return {};
}

/// The attributes with which pthread_create starts a thread.
class attributes {
 public:
  attributes() { ::pthread_attr_init(&value_); }
  attributes(const attributes&) = delete;
  auto operator=(const attributes&) -> attributes& = delete;
  ~attributes() { ::pthread_attr_destroy(&value_); }

  auto set_stack_size(std::size_t bytes) -> result<void> { return status(::pthread_attr_setstacksize(&value_, bytes)); }
  [[nodiscard]] auto get() const noexcept -> const ::pthread_attr_t* { return &value_; }

 private:
  ::pthread_attr_t value_{};
};

}  // namespace

/// The input of a new thread, and the report that the thread fills in. The object is on the stack of the creating
/// thread, which waits for the report.
struct thread::beginning {
  thread::options options;
  std::unique_ptr<detail::thread_body> body;
  settings_report report;
  std::exception_ptr failure;  // the exception of a setting, such as bad_alloc; if set, the callable is not called
  detail::parker settled;
};

thread::thread(std::thread adopted) noexcept {
  if (adopted.joinable()) held_ = std::move(adopted);
}

thread::thread(std::jthread adopted) noexcept : stop_(adopted.get_stop_source()) {
  if (adopted.joinable()) held_ = std::move(adopted);
}

auto thread::adopt(::pthread_t adopted) noexcept -> thread {
  thread taken;
  taken.held_ = adopted;
  return taken;
}

thread::thread(thread&& other) noexcept
    : held_(std::exchange(other.held_, std::monostate())),
      stop_(std::exchange(other.stop_, std::stop_source(std::nostopstate))),
      report_(std::exchange(other.report_, {})) {}

auto thread::operator=(thread&& other) noexcept -> thread& {
  thread taken(std::move(other));
  end();
  held_ = std::exchange(taken.held_, std::monostate());
  stop_ = std::exchange(taken.stop_, std::stop_source(std::nostopstate));
  report_ = std::move(taken.report_);
  return *this;
}

thread::~thread() { end(); }

void thread::end() noexcept {
  if (!joinable()) return;
  request_stop();
  BRAID_EXPECTS(join(), "a thread must not destroy the object that joins it");
}

auto thread::info() const -> result<thread_info> {
  const auto nobody = [](std::monostate) -> result<thread_info> {
    return fail(std::make_error_code(std::errc::no_such_process));
  };
  return std::visit(cases{nobody, [](const auto& native) { return info_of(native); }}, held_);
}

auto thread::join() -> result<void> {
  const auto nobody = [](std::monostate) -> result<void> { return fail(errc::invalid_argument); };
  const auto joined = std::visit(cases{nobody, [](auto& native) { return braid::join(native); }}, held_);
  if (joined) held_ = std::monostate();
  return joined;
}

auto thread::start(thread::options options, std::unique_ptr<detail::thread_body> body, std::stop_source stop)
    -> result<thread> {
  beginning first{.options = std::move(options), .body = std::move(body), .report = {}, .failure = {}, .settled = {}};
  thread started;
  if (const auto launched = started.launch(first); !launched) return fail(launched.error());
  first.settled.park();
  if (first.failure != nullptr) std::rethrow_exception(first.failure);
  started.stop_ = std::move(stop);
  started.report_ = std::move(first.report);
  const auto refused = started.report_.first_refusal();
  if (refused || first.options.on_refused == refusal::ignore) return started;
  return fail(refused.error());  // the thread ends without having called anything, and is joined here
}

auto thread::launch(beginning& first) -> result<void> {
  if (first.options.stack_size) {
    auto launched = launch_with_stack(first);
    if (launched || first.options.on_refused == refusal::fail) return launched;
    first.report.add(settings_report::setting::stack_size, launched);
  }
  try {
    held_ = std::thread([&first] { run(first); });
  } catch (const std::system_error& refused) {
    return fail(refused.code());
  }
  return {};
}

/// Starts a thread with a given stack size by pthread_create, because std::thread cannot set the size.
auto thread::launch_with_stack(beginning& first) -> result<void> {
  attributes wanted;
  if (auto accepted = wanted.set_stack_size(*first.options.stack_size); !accepted) return accepted;
  const auto entry = [](void* argument) -> void* {
    run(*static_cast<beginning*>(argument));
    return nullptr;
  };
  // The setting is recorded before the thread starts, because an allocation that fails after the start could not be
  // reported.
  first.report.add(settings_report::setting::stack_size, {});
  ::pthread_t handle{};
  const auto created = status(::pthread_create(&handle, wanted.get(), entry, &first));
  if (created)
    held_ = handle;
  else
    first.report = {};
  return created;
}

/// The main function of a new thread. The object `first` may be destroyed as soon as `first.settled` is unparked.
/// Cancellation is disabled: pthread_cancel unwinds the stack like an exception, and a noexcept function on the stack
/// would end the program.
void thread::run(beginning& first) noexcept {
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  const auto body = std::move(first.body);
  bool runs = false;
  try {
    configure(first);
    runs = first.report.all_applied() || first.options.on_refused == refusal::ignore;
  } catch (...) {
    first.failure = std::current_exception();
  }
  first.settled.unpark();
  if (runs) body->run();
}

void thread::configure(beginning& first) {
  const thread_profile wanted{
      .name = first.options.name, .affinity = first.options.affinity, .scheduling = first.options.scheduling};
  const settings_report applied = this_thread::apply(wanted);
  for (const settings_report::outcome& each : applied.outcomes()) first.report.add(each.setting, each.outcome);
}

}  // namespace braid
