// braid/thread/detail/thread_body.hpp: the callable that a thread runs, and the arguments of the callable.
#pragma once

#include <functional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A callable that can be copied and called with copies of its arguments. A stop token may come before the arguments.
template <typename Fn, typename... Args>
concept thread_callable =
    (std::is_constructible_v<std::decay_t<Fn>, Fn> && ... && std::is_constructible_v<std::decay_t<Args>, Args>) &&
    (std::is_invocable_v<std::decay_t<Fn>, std::stop_token, std::decay_t<Args>...> ||
     std::is_invocable_v<std::decay_t<Fn>, std::decay_t<Args>...>);

class thread_body {
 public:
  thread_body() = default;
  thread_body(const thread_body&) = delete;
  auto operator=(const thread_body&) -> thread_body& = delete;
  virtual ~thread_body() = default;

  /// Calls the callable, once. An exception of the callable ends the program.
  virtual void run() noexcept = 0;
};

template <typename Fn, typename... Args>
class callable_body final : public thread_body {
 public:
  static constexpr bool takes_token = std::is_invocable_v<Fn, std::stop_token, Args...>;

  template <typename F, typename... As>
  explicit callable_body(std::stop_token stop, F&& fn, As&&... args)
      : stop_(std::move(stop)), fn_(std::forward<F>(fn)), args_(std::forward<As>(args)...) {}

  void run() noexcept override {
    const auto call = [this](Args&... args) {
      if constexpr (takes_token)
        std::invoke(std::move(fn_), std::move(stop_), std::move(args)...);
      else
        std::invoke(std::move(fn_), std::move(args)...);
    };
    std::apply(call, args_);
  }

 private:
  std::stop_token stop_;
  Fn fn_;
  std::tuple<Args...> args_;
};

}  // namespace braid::detail
