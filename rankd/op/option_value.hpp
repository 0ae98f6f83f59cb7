// rankd/op/option_value.hpp: a number of a node that the plan fixes, or that a param of each request sets.
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

/// The value of an option whose shape is bindable. Threads: any. Cost: `in` makes a comparison, and reads the params if
/// one of them sets the value.
template <typename T>
  requires std::same_as<T, std::int64_t> || std::same_as<T, double>
class option_value {
 public:
  option_value() = default;
  explicit option_value(T fixed) noexcept : fixed_(fixed) {}

  /// A param that is not declared has been complained about by `check_bindings`: its option is never read.
  option_value(const plan_param& option, const registries& declared) {
    if (!option.bound) {
      fixed_ = std::get<T>(option.value);
      return;
    }
    const param_entry* const param = declared.find_param(option.bound->param_id);
    if (param != nullptr) place_ = declared.index_of(*param);
  }

  /// Returns the value for a request with these values of params, one for each of registries::params. Requires values
  /// that `check_needs` reports nothing about.
  [[nodiscard]] auto in(std::span<const scalar> params) const noexcept -> T {
    return place_ == nowhere ? fixed_ : *std::get_if<T>(&params[place_]);
  }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  T fixed_{};
  std::size_t place_ = nowhere;
};

/// Checks the params that options of a node are bound to. Reports unknown_param, blocked_param, unreadable_param;
/// wrong_param_type if its type differs from the option's; default_out_of_range if its default is missing or is not a
/// value that the option may have.
void check_bindings(const plan_node& node, const registries& declared, braid::diagnostics& problems);

}  // namespace rankd
