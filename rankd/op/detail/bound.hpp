// rankd/op/detail/bound.hpp: from a struct of params and a function to an operator.
#pragma once

#include <braid/base/config.hpp>
#include <rankd/op/operator.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace rankd::detail {

/// A cost that depends on an option which a param of the request may set.
template <typename P>
concept costs_by_request = requires(const P& params, std::size_t rows, std::span<const scalar> values) {
  { params.cost_ns(rows, values) } noexcept -> std::same_as<double>;
};

/// Params that compute: `run(context)` and a cost, from only the rows or also from the values of the request.
template <typename P>
concept computing_params = requires(const P& params, node_context& context, std::size_t rows) {
  { params.run(context) } -> std::same_as<op_result<row_set>>;
  requires costs_by_request<P> || noexcept(params.cost_ns(rows));
};

/// Params that wait: `start(context)`.
template <typename P>
concept waiting_params = requires(const P& params, node_context& context) {
  { params.start(context) } -> std::same_as<braid::task<op_result<row_set>>>;
};

/// Params that know whether their operator can fail; others may.
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
      BRAID_EXPECTS(false, "an operator that waits is started, not run");
      return std::unexpected(op_error{});
    }
  }

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> override {
    if constexpr (waiting_params<Params>) {
      return params_.start(context);
    } else {
      BRAID_EXPECTS(false, "an operator that computes is run, not started");
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
