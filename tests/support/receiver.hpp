// tests/support/receiver.hpp: a receiver that writes down how it was completed.
#pragma once

#include <braid/task/senders.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace braid::testing {

/// How an operation has completed.
struct completion {
  std::atomic<int> values{0};
  std::atomic<int> errors{0};
  std::atomic<int> stops{0};
  std::exception_ptr error;
  std::error_code code;
  std::thread::id thread;
  std::function<void()> then = [] {};  ///< called on the completing thread, before it counts

  [[nodiscard]] auto count() const -> int { return values + errors + stops; }
};

/// The environment of such a receiver: a stop token, and a scheduler if there is one.
template <typename Scheduler>
struct recorder_env {
  [[nodiscard]] auto query(execution::get_stop_token_t /*which*/) const noexcept { return token; }
  [[nodiscard]] auto query(execution::get_scheduler_t /*which*/) const noexcept -> Scheduler
    requires(!std::is_same_v<Scheduler, int>)
  {
    return on;
  }
  execution::inplace_stop_token token;
  Scheduler on{};
};

template <typename Value, typename Scheduler = int>
class recorder {
 public:
  using receiver_concept = execution::receiver_t;

  recorder(completion& into, Value& value, execution::inplace_stop_token token = {}, Scheduler on = {})
      : into_(&into), value_(&value), env_{token, on} {}

  template <typename... Values>
  void set_value(Values&&... values) && noexcept {
    if constexpr (sizeof...(Values) == 1) *value_ = (std::forward<Values>(values), ...);
    end(into_->values);
  }
  void set_error(std::exception_ptr error) && noexcept {
    into_->error = std::move(error);
    end(into_->errors);
  }
  void set_error(std::error_code code) && noexcept {
    into_->code = code;
    end(into_->errors);
  }
  void set_stopped() && noexcept { end(into_->stops); }
  [[nodiscard]] auto get_env() const noexcept { return env_; }

 private:
  void end(std::atomic<int>& count) const noexcept {
    into_->thread = std::this_thread::get_id();
    into_->then();
    ++count;
  }

  completion* into_;
  Value* value_;
  recorder_env<Scheduler> env_;
};

}  // namespace braid::testing
