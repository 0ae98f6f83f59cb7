// rankd/op/detail/stored_ids.hpp: sources that read ids from lists, sets and sorted sets under keys that a template
// produces.
#pragma once

#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/option_value.hpp>

#include <cstdint>
#include <limits>
#include <optional>

namespace rankd::detail {

/// The column that receives scores, and the value that replaces a score that is not finite.
struct score_column {
  std::uint32_t key_id = 0;
  std::optional<double> otherwise;
};

/// The bounds of a range of scores. A bound is infinite if the plan does not set it.
struct score_ends {
  option_value<double> min{-std::numeric_limits<double>::infinity()};
  option_value<double> max{std::numeric_limits<double>::infinity()};
};

/// A source of ids. The operators `list`, `set` and `sorted_set` use it, each with its own `what.kind`.
struct stored_ids {
  std::uint32_t endpoint = 0;
  bound_template keys;
  named_read what;  ///< without keys and without values that params of a request may set
  option_value<std::int64_t> count = {};
  option_value<std::int64_t> offset{0};
  std::optional<score_ends> range = {};
  std::optional<score_column> scores = {};

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>>;

 private:
  [[nodiscard]] auto asked_by(const node_context& context, std::span<const std::string_view> asked) const -> named_read;
  [[nodiscard]] auto joined(const row_keys& rows, const item_batch& found, node_context& context) const
      -> op_result<row_set>;
  [[nodiscard]] auto find_scores(const row_keys& rows, const item_batch& found, std::size_t total,
                                 node_context& context) const -> column;
};

inline constexpr param_shape count_shape{
    .name = "count", .kind = param_kind::int64, .range = {.min = 1, .max = max_rows_of_a_source}, .bindable = true};
inline constexpr std::int64_t max_offset = 2'000'000'000;
inline constexpr param_shape offset_shape{.name = "offset",
                                          .kind = param_kind::int64,
                                          .need = presence::nullable,
                                          .range = {.min = 0, .max = max_offset},
                                          .bindable = true};

/// Finds the options that all three operators share. Adds errors to `problems`.
auto find_stored_ids(read_kind kind, const plan_node& node, const bind_context& context, braid::diagnostics& problems)
    -> stored_ids;

/// Binds an operator that has only the shared options.
auto bind_stored_ids(read_kind kind, const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr>;

}  // namespace rankd::detail
