// braid/net/http_router.hpp: which function answers which request, by method and path.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/task.hpp>
#include <braid/net/http_method.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

class http_exchange;

/// Answers a request: a coroutine, or a plain function where there is nothing to wait for.
using http_handler = std::variant<std::function<void(http_exchange&)>, std::function<task<void>(http_exchange&)>>;

/// A set of methods.
class http_method_set {
 public:
  void add(http_method method) noexcept { bits_ |= bit(method); }
  void add(http_method_set other) noexcept { bits_ |= other.bits_; }
  [[nodiscard]] auto contains(http_method method) const noexcept -> bool { return (bits_ & bit(method)) != 0; }
  [[nodiscard]] auto empty() const noexcept -> bool { return bits_ == 0; }
  /// `GET, HEAD`, as the field Allow wants it.
  [[nodiscard]] BRAID_API auto to_string() const -> std::string;

 private:
  static constexpr auto bit(http_method method) noexcept -> unsigned { return 1U << static_cast<unsigned>(method); }
  unsigned bits_ = 0;
};

/// Patterns are paths in which `{name}` stands for one segment that is not empty, and `{name...}` at the end for all
/// the rest. What is written out wins over a name, and that over a rest. Segments are compared as they come: neither
/// dots nor percent signs mean anything. Threads: any, once everything is added.
class BRAID_API http_router {
  struct node;
  struct route;

 public:
  static constexpr std::size_t max_names = 8;

  http_router();
  http_router(http_router&&) noexcept;
  auto operator=(http_router&&) noexcept -> http_router&;
  ~http_router();

  /// `fn(http_exchange&)` answers requests of that method whose path fits the pattern; it gives a task<void> or
  /// nothing; a task that is empty has ended. A handler of GET answers HEAD as well, where that has none of its own.
  /// Requires a pattern as above, new for the method, with no name twice. Several requests run at the same time.
  template <std::invocable<http_exchange&> Fn>
  auto add(http_method method, std::string_view pattern, Fn fn) -> http_router& {
    if constexpr (std::is_void_v<std::invoke_result_t<Fn&, http_exchange&>>)
      insert(method, pattern, std::function<void(http_exchange&)>(std::move(fn)));
    else
      insert(method, pattern, std::function<task<void>(http_exchange&)>(std::move(fn)));
    return *this;
  }
  template <std::invocable<http_exchange&> Fn>
  auto get(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::get, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto post(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::post, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto put(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::put, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto patch(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::patch, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto delete_(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::delete_, pattern, std::move(fn));
  }

  /// What was found for a path. Lifetime: of the router and of the path.
  class match {
   public:
    /// Null where nothing fits.
    [[nodiscard]] auto handler() const noexcept -> const http_handler*;
    /// What stands in the path where the pattern has `{name}`; as it came.
    [[nodiscard]] auto value(std::string_view name) const noexcept -> std::optional<std::string_view>;
    /// The methods that the path has handlers for; empty where no pattern fits it.
    [[nodiscard]] auto allowed() const noexcept -> http_method_set { return allowed_; }

   private:
    friend class http_router;
    const route* route_ = nullptr;
    http_method_set allowed_;
    std::array<std::string_view, max_names> values_;
  };

  /// Cost: some ten nanoseconds for each segment.
  [[nodiscard]] auto find(http_method method, std::string_view path) const noexcept -> match;

 private:
  void insert(http_method method, std::string_view pattern, http_handler handler);
  [[nodiscard]] static auto try_route(const node& at, http_method method, match& into) noexcept -> bool;
  [[nodiscard]] static auto search(const node& at, http_method method, std::string_view rest, std::size_t names,
                                   match& into) noexcept -> bool;

  std::unique_ptr<node> root_;
};

}  // namespace braid
