// rankd/op/operators/rows/concat.cpp: implements the operator that appends the rows of another node.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/rows/concat.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace rankd::detail::concat_op {
namespace {

/// Returns the number of bytes of one row of a table, without validity bits and without the strings themselves.
auto row_bytes(const batch& table) -> std::uint64_t {
  std::uint64_t bytes = sizeof(std::int64_t);
  for (const keyed_column& each : table.columns())
    bytes += each.values.strings() != nullptr    ? sizeof(std::uint32_t)
             : each.values.booleans() != nullptr ? sizeof(bool)
                                                 : sizeof(double);
  return bytes;
}

struct concat_params {
  std::uint32_t source_key = 0;             ///< the column that names the source of a row; 0: there is none
  std::array<std::string, 2> source_names;  ///< of the input, and of the other node

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 20.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& left = context.inputs[0];
    const row_set& right = context.inputs[1];
    if (left.size() + right.size() > batch::max_rows)
      return std::unexpected(op_error{"too_many_rows", "both sides together have more rows than a batch can hold"});
    const std::uint64_t rows = left.size() + right.size();
    if (!context.may_make(rows, rows * std::max(row_bytes(left.table()), row_bytes(right.table()))))
      return over_budget();
    const row_set both = concat(left, right, context.memory);
    return source_key == 0 ? both : with_sources(both, left.size(), context.memory);
  }

 private:
  /// Adds the column that names the source of each row. Rows that already have a source from an earlier concat keep
  /// that source.
  [[nodiscard]] auto with_sources(const row_set& rows, std::size_t left, braid::arena& memory) const -> row_set {
    const std::optional<column> known = rows.table().find(source_key);
    dictionary_builder words(memory);
    if (known)
      for (const std::string_view word : known->strings()->words->entries())
        static_cast<void>(words.intern_shared(word));
    const std::uint32_t of_left = words.intern(source_names[0]);
    const std::uint32_t of_right = words.intern(source_names[1]);
    const std::span<std::uint32_t> codes = memory.uninitialized<std::uint32_t>(rows.size());
    for (std::size_t row = 0; row < codes.size(); ++row) {
      codes[row] = row < left ? of_left : of_right;
      if (known && !known->is_null(row)) codes[row] = known->strings()->codes[row];
    }
    const column values{.values = string_values{codes, words.finish()}, .validity = {}};
    return rows.with_column(source_key, values, memory);
  }
};

constexpr std::array concat_shape{
    param_shape{.name = "rhs", .kind = param_kind::node_ref},
    param_shape{.name = "out_key",
                .kind = param_kind::key_id,
                .need = presence::nullable,
                .use = key_use::write,
                .choices = string_types},
    param_shape{.name = "sources", .kind = param_kind::texts, .need = presence::nullable, .min_items = 2},
};

auto wrong_sources(std::string code, std::string pointer, std::string message) -> braid::diagnostic {
  return {.code = std::move(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = "`sources` must name the input and `rhs`, and `out_key` the column that stores the names",
          .node = {},
          .source = {}};
}

auto bind_concat(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const plan_param* out_key = node.find_param("out_key");
  const plan_param* sources = node.find_param("sources");
  const key_entry* key = out_key == nullptr
                             ? nullptr
                             : find_typed_key(*out_key, find_param_shape(concat_shape, "out_key"), context, problems);
  if (sources != nullptr && out_key == nullptr)
    problems.add(wrong_sources("unused_param", sources->pointer, "`sources` requires `out_key`"));
  else if (out_key != nullptr && sources == nullptr)
    problems.add(wrong_sources("missing_field", braid::json_pointer(node.pointer, "params"),
                               "the field `sources` is missing; it has the names that are stored in `out_key`"));
  else if (sources != nullptr && sources->names.size() > 2)
    problems.add(wrong_sources("too_many_items", sources->pointer, "`sources` has more than two names"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  if (key == nullptr) return make_bound(concat_params{});
  return make_bound(concat_params{.source_key = key->key_id, .source_names = {sources->names[0], sources->names[1]}});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::concat", .inputs = 1, .params = concat_shape},
          .change = row_change::concatenation,
          .doc = "Returns the rows of the input, followed by the rows of another node.",
          .bind = &bind_concat};
}

}  // namespace rankd::detail::concat_op
