// rankd/op/option_value.hpp: a numeric option whose value is fixed by the plan or set by a param of each request.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>

namespace rankd {

/// The value of a bindable option. Threads: any. Cost: `in` makes one comparison, and reads the params if a param sets
/// the value.
template <typename T>
  requires std::same_as<T, std::int64_t> || std::same_as<T, double>
class option_value {
 public:
  option_value() = default;
  explicit option_value(T fixed) noexcept : fixed_(fixed) {}

  /// Stores either the fixed value or the position of the param. If the param is not declared, `check_bindings` reports
  /// that, and the option is never read.
  option_value(const plan_param& option, const registries& declared) {
    if (!option.bound) {
      fixed_ = std::get<T>(option.value);
      return;
    }
    const param_entry* const param = declared.find_param(option.bound->param_id);
    if (param != nullptr) place_ = declared.index_of(*param);
  }

  /// Returns the value for a request. `params` has one value for each of registries::params. Requires that
  /// `check_needs` reports no error about these values.
  [[nodiscard]] auto in(std::span<const scalar> params) const noexcept -> T {
    return place_ == nowhere ? fixed_ : *std::get_if<T>(&params[place_]);
  }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  T fixed_{};
  std::size_t place_ = nowhere;
};

/// Checks the params that options of a node are bound to. Reports unknown_param, blocked_param, unreadable_param;
/// wrong_param_type if the types of the param and the option differ; default_out_of_range if the param has no default
/// or its default is not allowed for the option.
void check_bindings(const plan_node& node, const registries& declared, braid::diagnostics& problems);

}  // namespace rankd
