// rankd/op/detail/bound.hpp: builds a `bound_op` from a struct of params that has a function `run` or `start`.
#pragma once

#include <braid/base/config.hpp>
#include <rankd/op/operator.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace rankd::detail {

/// A struct of params whose cost depends on an option that a request may set by a param.
template <typename P>
concept costs_by_request = requires(const P& params, std::size_t rows, std::span<const scalar> values) {
  { params.cost_ns(rows, values) } noexcept -> std::same_as<double>;
};

/// A struct of params for an operator that computes. The struct has `run(context)` and a cost, which may depend on the
/// request.
template <typename P>
concept computing_params = requires(const P& params, node_context& context, std::size_t rows) {
  { params.run(context) } -> std::same_as<op_result<row_set>>;
  requires costs_by_request<P> || noexcept(params.cost_ns(rows));
};

/// A struct of params for an operator that waits. The struct has `start(context)`.
template <typename P>
concept waiting_params = requires(const P& params, node_context& context) {
  { params.start(context) } -> std::same_as<braid::task<op_result<row_set>>>;
};

/// A struct of params that states whether its operator can fail. All other operators are assumed to be able to fail.
template <typename P>
concept certain_params = requires(const P& params) {
  { params.may_fail() } noexcept -> std::same_as<bool>;
};

template <typename Params>
  requires computing_params<Params> || waiting_params<Params>
class bound final : public bound_op {
 public:
  explicit bound(Params params) : params_(std::move(params)) {}

  [[nodiscard]] auto work() const noexcept -> op_work override {
    return computing_params<Params> ? op_work::computes : op_work::waits;
  }

  [[nodiscard]] auto cost_ns(std::size_t rows, std::span<const scalar> values) const noexcept -> double override {
    if constexpr (costs_by_request<Params>)
      return params_.cost_ns(rows, values);
    else if constexpr (computing_params<Params>)
      return params_.cost_ns(rows);
    else
      return 0;
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> override {
    if constexpr (computing_params<Params>) {
      return params_.run(context);
    } else {
      BRAID_EXPECTS(false, "call `start`, not `run`, for an operator that waits");
      return std::unexpected(op_error{});
    }
  }

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> override {
    if constexpr (waiting_params<Params>) {
      return params_.start(context);
    } else {
      BRAID_EXPECTS(false, "call `run`, not `start`, for an operator that computes");
      return {};
    }
  }

  [[nodiscard]] auto may_fail() const noexcept -> bool override {
    if constexpr (certain_params<Params>)
      return params_.may_fail();
    else
      return true;
  }

 private:
  Params params_;
};

using bound_ptr = std::unique_ptr<const bound_op>;

template <typename Params>
auto make_bound(Params params) -> bound_ptr {
  return std::make_unique<const bound<Params>>(std::move(params));
}

}  // namespace rankd::detail
