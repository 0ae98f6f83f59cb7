// rankd/op/operators/columns/vm.cpp: implements the operator that adds a column with the value of an expression.
#include <rankd/expr/detail/program.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/formulas.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/written_key.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail::vm_op {
namespace {

/// A param of the request that an expression reads.
struct read_param {
  std::uint32_t place = 0;  ///< in registries::params
  std::string name;
};

auto list_params(const expr_program& program, const registries& declared) -> std::vector<read_param> {
  std::vector<read_param> out;
  if (program.is_refused()) return out;
  for (const auto& each : program.code().params)
    if (std::ranges::find(out, each.param, &read_param::place) == out.end())
      out.push_back({each.param, declared.params()[each.param].name});
  return out;
}

/// Returns a text that names the params that are null in the request, because these are the most likely reason for a
/// null value.
auto null_params(const std::vector<read_param>& read, std::span<const scalar> given) -> std::string {
  std::string names;
  std::size_t count = 0;
  for (const read_param& each : read) {
    if (!is_null(given[each.place])) continue;
    names += (names.empty() ? "`" : ", `") + each.name + "`";
    ++count;
  }
  if (count == 0) return {};
  return std::string("; the request sets no value for ") + (count == 1 ? "the param " : "the params ") + names +
         ", which the formula reads";
}

struct vm_params {
  written_key key;
  expr_program program;
  std::vector<read_param> params = {};

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return estimate_cost(program, rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (!context.may_make(0, rows.table().size() * sizeof(double))) return over_budget();
    const evaluated<column> values = list_values(rows, context);
    if (!values) return cannot_evaluate(values.error());
    if (auto wrong = refused_value(rows, *values, key)) {
      if (wrong->code == "null_value") wrong->message += null_params(params, context.params);
      return std::unexpected(std::move(*wrong));
    }
    return rows.with_column(key.key_id, *values, context.memory);
  }

 private:
  [[nodiscard]] auto list_values(const row_set& rows, node_context& context) const -> evaluated<column> {
    const evaluate_options how{.rows_of_part = context.rows_of_part};
    if (key.type == value_type::string) return evaluate_strings(program, rows, context.params, context.memory);
    if (key.type == value_type::integer) return evaluate_integers(program, rows, context.params, context.memory, how);
    return evaluate(program, rows, context.params, context.memory, how);
  }
};

constexpr std::array<std::string_view, 3> value_types{"float", "int", "string"};
constexpr std::array vm_shape{
    param_shape{.name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = value_types},
    param_shape{.name = "expr_id", .kind = param_kind::expr_id},
};

/// Reports an error if the values of an expression are not allowed for the key that receives these values.
void check_result(const key_entry& key, const plan_param& out_key, const plan_param& expr, const expr_program& program,
                  braid::diagnostics& problems) {
  const auto report = [&](std::string_view code, std::string_view gives, std::string_view hint) {
    problems.add({.code = std::string(code),
                  .pointer = expr.pointer,
                  .message = "the key " + quote_name(key.name) + " is of type " + std::string(to_string(key.type)) +
                             ", but the expression " + std::string(gives),
                  .hint = std::string(hint),
                  .node = {},
                  .source = {}});
  };
  const bool of_numbers = key.type == value_type::floating || key.type == value_type::integer;
  if (!of_numbers && key.type != value_type::string)
    problems.add(wrong_key_type(key, out_key, "an expression returns floats, ints or strings"));
  else if (program.is_refused())
    return;  // the tree has been complained about
  else if (of_numbers && !program.gives_numbers())
    report("expr_not_number", "gives strings", "write strings under a key of type string");
  else if (key.type == value_type::integer && !program.gives_integers())
    report(
        "expr_not_integer", "may give fractions",
        "integer expressions are int keys and params, integer literals, %, buckets, lengths, and choices among these");
  else if (key.type == value_type::string && !program.gives_strings())
    report("expr_not_string", "gives numbers",
           "string expressions are string keys and params, string literals, concat, and choices among these");
}

auto bind_vm(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const plan_param& out_key = *node.find_param("out_key");
  const key_entry* key = find_key(out_key, key_use::write, context, problems);
  const plan_param& expr = *node.find_param("expr_id");
  if (key != nullptr) check_result(*key, out_key, expr, context.exprs[expr.index()], problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(vm_params{.key = written_key(*key),
                              .program = context.exprs[expr.index()],
                              .params = list_params(context.exprs[expr.index()], context.declared)});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::vm", .inputs = 1, .params = vm_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a column of numbers or strings: the value of an expression for each row.",
          .bind = &bind_vm};
}

}  // namespace rankd::detail::vm_op
