// rankd/op/row_ops.cpp: the operators that compute on rows: vm, flag, filter, concat, sort, take.
#include <rankd/expr/detail/program.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/rows/concat.hpp>
#include <rankd/rows/defect.hpp>
#include <rankd/rows/sort.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

auto cannot_evaluate(const evaluation_error& why) -> std::unexpected<op_error> {
  return std::unexpected(op_error{why.code, why.message + " (at " + why.pointer + ")"});
}

auto cost_of(const compiled_tree& program, std::size_t rows) noexcept -> double {
  const compiled_tree::cost_guess guess = program.cost();
  return guess.once_ns + guess.row_ns * static_cast<double>(rows);
}

/// A param of the request that a formula reads.
struct read_param {
  std::uint32_t place = 0;  ///< in registries::params
  std::string name;
};

auto params_of(const expr_program& program, const registries& declared) -> std::vector<read_param> {
  std::vector<read_param> out;
  if (program.is_refused()) return out;
  for (const auto& each : program.code().params)
    if (std::ranges::find(out, each.param, &read_param::place) == out.end())
      out.push_back({each.param, declared.params()[each.param].name});
  return out;
}

/// What to look at first where a value is null: the params that the request has left null.
auto null_params(const std::vector<read_param>& read, std::span<const scalar> given) -> std::string {
  std::string names;
  std::size_t count = 0;
  for (const read_param& each : read) {
    if (!is_null(given[each.place])) continue;
    names += (names.empty() ? "`" : ", `") + each.name + "`";
    ++count;
  }
  if (count == 0) return {};
  return std::string("; the request gives no value for ") + (count == 1 ? "the param " : "the params ") + names +
         ", which the formula reads";
}

struct vm_params {
  std::uint32_t key_id = 0;
  std::string key_name;
  null_rule nulls = null_rule::allowed;
  value_type gives = value_type::floating;
  expr_program program;
  std::vector<read_param> params = {};

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return cost_of(program, rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (!context.may_make(0, rows.table().size() * sizeof(double))) return over_budget();
    const evaluated<column> values = values_of(rows, context);
    if (!values) return cannot_evaluate(values.error());
    if (const auto wrong = find_defect(rows, *values, nulls)) return refused(rows, *wrong, context.params);
    return rows.with_column(key_id, *values, context.memory);
  }

 private:
  [[nodiscard]] auto values_of(const row_set& rows, node_context& context) const -> evaluated<column> {
    const evaluate_options how{.rows_of_part = context.rows_of_part};
    if (gives == value_type::string) return evaluate_strings(program, rows, context.params, context.memory);
    if (gives == value_type::integer) return evaluate_integers(program, rows, context.params, context.memory, how);
    return evaluate(program, rows, context.params, context.memory, how);
  }

  [[nodiscard]] auto refused(const row_set& rows, const defect& wrong, std::span<const scalar> given) const
      -> std::unexpected<op_error> {
    const std::string row = std::to_string(wrong.row) + " (id " + to_text(rows.table().id(wrong.row)) + ")";
    if (wrong.kind == defect_kind::non_finite)
      return std::unexpected(
          op_error{"non_finite_value", "the value for `" + key_name + "` of row " + row + " is not a finite number"});
    return std::unexpected(op_error{"null_value", "the value for `" + key_name + "` of row " + row +
                                                      " is null, which the key refuses" + null_params(params, given)});
  }
};

struct flag_params {
  std::uint32_t key_id = 0;
  pred_program program;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return cost_of(program, rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const std::size_t size = rows.table().size();
    if (!context.may_make(0, size * sizeof(bool))) return over_budget();
    const evaluated<bitmap> holds =
        evaluate(program, rows, context.params, context.memory, {.rows_of_part = context.rows_of_part});
    if (!holds) return cannot_evaluate(holds.error());
    const std::span<bool> values = context.memory.filled(size, false);
    for (std::size_t at = 0; at < rows.size(); ++at) values[rows.row(at)] = (*holds)[at];
    return rows.with_column(key_id, {.values = std::span<const bool>(values), .validity = active(rows, context.memory)},
                            context.memory);
  }

 private:
  /// Rows that are not active have no value.
  static auto active(const row_set& rows, braid::arena& memory) -> bitmap {
    if (rows.size() == rows.table().size()) return {};
    const std::span<std::uint64_t> words = memory.filled(words_for(rows.table().size()), std::uint64_t{0});
    rows.for_each_row([words](std::uint32_t row) { set_bit(words.data(), row); });
    return bitmap(words.data());
  }
};

struct filter_params {
  pred_program program;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return cost_of(program, rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const evaluated<bitmap> kept =
        evaluate(program, rows, context.params, context.memory, {.rows_of_part = context.rows_of_part});
    if (!kept) return cannot_evaluate(kept.error());
    return rows.select(*kept, context.memory);
  }
};

/// What one row of a table takes; validity and strings themselves are not counted.
auto row_bytes(const batch& table) -> std::uint64_t {
  std::uint64_t bytes = sizeof(std::int64_t);
  for (const keyed_column& each : table.columns())
    bytes += each.values.strings() != nullptr    ? sizeof(std::uint32_t)
             : each.values.booleans() != nullptr ? sizeof(bool)
                                                 : sizeof(double);
  return bytes;
}

struct concat_params {
  std::uint32_t source_key = 0;             ///< of the column that says where a row is from; 0: there is none
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
  /// Rows that say where they are from, as those of a concat before this one, keep their word.
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

struct sort_params {
  std::uint32_t key_id = 0;
  sort_direction direction = sort_direction::ascending;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return 4.0 * static_cast<double>(rows) * static_cast<double>(std::bit_width(rows));
  }

  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return sort(context.inputs[0], key_id, direction, context.memory);
  }
};

/// A sort of which a take behind it wants the first rows only.
struct first_of_sort_params {
  sort_params by;
  option_value<std::int64_t> count;

  [[nodiscard]] auto cost_ns(std::size_t rows, std::span<const scalar> params) const noexcept -> double {
    const std::size_t taken = std::min(rows, static_cast<std::size_t>(count.in(params)));
    return std::min(by.cost_ns(rows), 2.0 * static_cast<double>(rows) + 4 * by.cost_ns(taken));
  }

  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return sort_first(context.inputs[0], by.key_id, by.direction, static_cast<std::size_t>(count.in(context.params)),
                      context.memory);
  }
};

struct pass_on_params {
  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }
  [[nodiscard]] auto cost_ns(std::size_t /*rows*/) const noexcept -> double { return 10; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> { return context.inputs[0]; }
};

struct take_params {
  option_value<std::int64_t> count;

  [[nodiscard]] auto cost_ns(std::size_t /*rows*/) const noexcept -> double { return 10; }
  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return context.inputs[0].take(static_cast<std::size_t>(count.in(context.params)));
  }
};

constexpr std::array<std::string_view, 3> value_types{"float", "int", "string"};
constexpr std::array vm_shape{
    param_shape{.name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = value_types},
    param_shape{.name = "expr_id", .kind = param_kind::expr_id},
};
constexpr std::array<std::string_view, 1> flag_types{"bool"};
constexpr std::array flag_shape{
    param_shape{.name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = flag_types},
    param_shape{.name = "pred_id", .kind = param_kind::pred_id},
};
constexpr std::array filter_shape{param_shape{.name = "pred_id", .kind = param_kind::pred_id}};
constexpr std::array<std::string_view, 1> source_types{"string"};
constexpr std::array concat_shape{
    param_shape{.name = "rhs", .kind = param_kind::node_ref},
    param_shape{.name = "out_key",
                .kind = param_kind::key_id,
                .need = presence::nullable,
                .use = key_use::write,
                .choices = source_types},
    param_shape{.name = "sources", .kind = param_kind::texts, .need = presence::nullable, .min_items = 2},
};
constexpr std::array take_shape{
    param_shape{.name = "count", .kind = param_kind::int64, .range = {.min = 1}, .bindable = true}};

constexpr std::array<std::string_view, 2> directions{"asc", "desc"};
constexpr std::array<std::string_view, 4> ordered_types{"int", "float", "string", "bool"};
constexpr std::array sort_shape{
    param_shape{.name = "by", .kind = param_kind::key_id, .choices = ordered_types},
    param_shape{.name = "order", .kind = param_kind::enumeration, .need = presence::nullable, .choices = directions},
};

auto wrong_key_type(const key_entry& key, const plan_param& param, std::string_view wanted) -> braid::diagnostic {
  return {.code = "wrong_key_type",
          .pointer = param.pointer,
          .message = "key " + std::to_string(key.key_id) + " (" + key.name + ") is of type " +
                     std::string(to_string(key.type)) + "; " + std::string(wanted),
          .hint = {},
          .node = {},
          .source = {}};
}

/// Adds what speaks against values of the expression under a key.
void check_result(const key_entry& key, const plan_param& out_key, const plan_param& expr, const expr_program& program,
                  braid::diagnostics& problems) {
  const auto report = [&](std::string_view code, std::string_view gives, std::string_view hint) {
    problems.add({.code = std::string(code),
                  .pointer = expr.pointer,
                  .message = "the key " + quote_name(key.name) + " is of type " + std::string(to_string(key.type)) +
                             ", and the expression " + std::string(gives),
                  .hint = std::string(hint),
                  .node = {},
                  .source = {}});
  };
  const bool of_numbers = key.type == value_type::floating || key.type == value_type::integer;
  if (!of_numbers && key.type != value_type::string)
    problems.add(wrong_key_type(key, out_key, "an expression gives floats, ints or strings"));
  else if (program.is_refused())
    return;  // the tree has been complained about
  else if (of_numbers && !program.gives_numbers())
    report("expr_not_number", "gives strings", "write strings under a key of type string");
  else if (key.type == value_type::integer && !program.gives_integers())
    report("expr_not_integer", "may give fractions",
           "integers are int keys and params, integer literals, %, buckets, lengths, and choices among these");
  else if (key.type == value_type::string && !program.gives_strings())
    report("expr_not_string", "gives numbers",
           "strings are string keys and params, string literals, concat, and choices among these");
}

auto bind_vm(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const plan_param& out_key = *node.find_param("out_key");
  const key_entry* key = find_key(out_key, key_use::write, with, problems);
  const plan_param& expr = *node.find_param("expr_id");
  if (key != nullptr) check_result(*key, out_key, expr, with.exprs[expr.index()], problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(vm_params{.key_id = key->key_id,
                              .key_name = key->name,
                              .nulls = key->nullable ? null_rule::allowed : null_rule::refused,
                              .gives = key->type,
                              .program = with.exprs[expr.index()],
                              .params = params_of(with.exprs[expr.index()], with.declared)});
}

auto bind_flag(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const key_entry* key = find_typed_key(*node.find_param("out_key"), shape_of(flag_shape, "out_key"), with, problems);
  if (key == nullptr) return std::unexpected(std::move(problems));
  return make_bound(flag_params{.key_id = key->key_id, .program = with.preds[node.find_param("pred_id")->index()]});
}

auto bind_filter(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  return make_bound(filter_params{with.preds[node.find_param("pred_id")->index()]});
}

auto wrong_sources(std::string code, std::string pointer, std::string message) -> braid::diagnostic {
  return {.code = std::move(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = "`sources` names the input and `rhs`, and `out_key` the column that holds the names",
          .node = {},
          .source = {}};
}

auto bind_concat(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const plan_param* out_key = node.find_param("out_key");
  const plan_param* sources = node.find_param("sources");
  const key_entry* key =
      out_key == nullptr ? nullptr : find_typed_key(*out_key, shape_of(concat_shape, "out_key"), with, problems);
  if (sources != nullptr && out_key == nullptr)
    problems.add(wrong_sources("unused_param", sources->pointer, "`sources` means something only beside `out_key`"));
  else if (out_key != nullptr && sources == nullptr)
    problems.add(wrong_sources("missing_field", braid::json_pointer(node.pointer, "params"),
                               "the field `sources` is missing: `out_key` needs names for it"));
  else if (sources != nullptr && sources->names.size() > 2)
    problems.add(wrong_sources("too_many_items", sources->pointer, "`sources` has more than two names"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  if (key == nullptr) return make_bound(concat_params{});
  return make_bound(concat_params{.source_key = key->key_id, .source_names = {sources->names[0], sources->names[1]}});
}

auto find_sort_params(const plan_node& node, const bind_context& with) -> braid::checked<sort_params> {
  braid::diagnostics problems;
  const plan_param& by = *node.find_param("by");
  const key_entry* key = find_key(by, key_use::read, with, problems);
  if (key != nullptr && key->type == value_type::vector)
    problems.add(wrong_key_type(*key, by, "such values have no order"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const plan_param* order = node.find_param("order");
  const bool descending = order != nullptr && std::get<std::string>(order->value) == "desc";
  return sort_params{.key_id = key->key_id,
                     .direction = descending ? sort_direction::descending : sort_direction::ascending};
}

auto bind_sort(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  auto by = find_sort_params(node, with);
  if (!by) return std::unexpected(std::move(by.error()));
  return make_bound(*by);
}

auto count_of(const plan_node& take, const bind_context& with) -> option_value<std::int64_t> {
  return {*take.find_param("count"), with.declared};
}

auto bind_take(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  return make_bound(take_params{count_of(node, with)});
}

}  // namespace

auto bind_first_of_sort(const plan_node& sort, const plan_node& take, const bind_context& with)
    -> braid::checked<bound_ptr> {
  auto by = find_sort_params(sort, with);
  if (!by) return std::unexpected(std::move(by.error()));
  return make_bound(first_of_sort_params{.by = *by, .count = count_of(take, with)});
}

auto make_pass_on() -> bound_ptr { return make_bound(pass_on_params{}); }

auto vm_entry() -> op_entry {
  return {.shape = {.name = "core::vm", .inputs = 1, .params = vm_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a column of numbers or strings: the value of an expression on each row.",
          .bind = &bind_vm};
}

auto flag_entry() -> op_entry {
  return {.shape = {.name = "core::flag", .inputs = 1, .params = flag_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a bool column: whether a predicate holds on each row.",
          .bind = &bind_flag};
}

auto filter_entry() -> op_entry {
  return {.shape = {.name = "core::filter", .inputs = 1, .params = filter_shape},
          .change = row_change::stable_filter,
          .doc = "Keeps the rows for which a predicate holds.",
          .bind = &bind_filter};
}

auto concat_entry() -> op_entry {
  return {.shape = {.name = "core::concat", .inputs = 1, .params = concat_shape},
          .change = row_change::concatenation,
          .doc = "The rows of the input, then those of another node.",
          .bind = &bind_concat};
}

auto sort_entry() -> op_entry {
  return {.shape = {.name = "core::sort", .inputs = 1, .params = sort_shape},
          .change = row_change::permutation,
          .doc = "Orders the rows by a key, stable, nulls last.",
          .bind = &bind_sort};
}

auto take_entry() -> op_entry {
  return {.shape = {.name = "core::take", .inputs = 1, .params = take_shape},
          .change = row_change::prefix,
          .doc = "The first rows in the current order.",
          .bind = &bind_take};
}

}  // namespace rankd::detail
