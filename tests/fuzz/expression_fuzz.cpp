// tests/fuzz/expression_fuzz.cpp: any JSON as an expression and as a predicate, evaluated as a naive interpreter does.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>
#include <tests/rankd/expr/expr_world.hpp>
#include <tests/rankd/expr/naive.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <rankd/expr/detail/kernels.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/expr/parse.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 54> words{
    R"({"op":"const_null"})",
    R"({"op":"const_number","value":@})",
    R"({"op":"const_number","value":9007199254740993})",
    R"({"op":"const_number","value":-0.0})",
    R"({"op":"key_ref","key_id":1})",
    R"({"op":"key_ref","key_id":1001})",
    R"({"op":"key_ref","key_id":1002})",
    R"({"op":"key_ref","key_id":1501})",
    R"({"op":"key_ref","key_id":1502})",
    R"({"op":"key_ref","key_id":3001})",
    R"({"op":"key_ref","key_id":4001})",
    R"({"op":"key_ref","key_id":9000})",
    R"({"op":"param_ref","param_id":1})",
    R"({"op":"param_ref","param_id":2})",
    R"({"op":"param_ref","param_id":3})",
    R"({"op":"param_ref","param_id":4})",
    R"({"op":"param_ref","param_id":5})",
    R"({"op":"add","a":@,"b":@})",
    R"({"op":"sub","a":@,"b":{"op":"key_ref","key_id":1501}})",
    R"({"op":"mul","a":@,"b":{"op":"const_number","value":1e308}})",
    R"({"op":"coalesce","a":@,"b":{"op":"const_number","value":3}})",
    R"({"op":"coalesce","a":{"op":"const_null"},"b":@})",
    R"({"op":"neg","x":@})",
    R"({"op":"div","a":@,"b":{"op":"key_ref","key_id":1501}})",
    R"({"op":"min","a":@,"b":@})",
    R"({"op":"max","a":{"op":"key_ref","key_id":1001},"b":@})",
    R"({"op":"floor","x":{"op":"sqrt","x":@}})",
    R"({"op":"ceil","x":{"op":"log1p","x":{"op":"abs","x":@}}})",
    R"({"op":"exp","x":{"op":"log","x":@}})",
    R"({"op":"pow","a":@,"b":{"op":"clamp","x":@,"lo":{"op":"const_number","value":-2},"hi":@}})",
    R"({"op":"if","pred":@,"a":@,"b":@})",
    R"({"op":"const_text","value":"U"})",
    R"({"op":"concat","a":@,"b":{"op":"const_text","value":"é"}})",
    R"({"op":"concat","a":{"op":"key_ref","key_id":3001},"b":@})",
    R"({"op":"coalesce","a":{"op":"param_ref","param_id":2},"b":@})",
    R"({"op":"length","x":@})",
    R"({"op":"bucket_text","x":@,"count":7,"seed":"s"})",
    R"({"op":"const_bool","value":true})",
    R"({"op":"and","a":@,"b":@})",
    R"({"op":"or","a":@,"b":{"op":"const_bool","value":false}})",
    R"({"op":"not","x":@})",
    R"({"op":"cmp","cmp":"==","a":@,"b":@})",
    R"({"op":"cmp","cmp":"!=","a":@,"b":{"op":"const_null"}})",
    R"({"op":"cmp","cmp":"<=","a":{"op":"key_ref","key_id":1},"b":@})",
    R"({"op":"in","lhs":@,"list":[1,2.5,9007199254740993]})",
    R"({"op":"in","lhs":{"op":"key_ref","key_id":3001},"list":["US","CA"]})",
    R"({"op":"is_null","x":@})",
    R"({"op":"not_null","x":@})",
    R"({"op":"regex","key_id":3001,"pattern":{"kind":"literal","value":@},"flags":"i"})",
    R"({"op":"regex","key_id":3001,"pattern":{"kind":"param","param_id":2},"flags":""})",
    R"("<")",
    R"("^U(S|.)*$")",
    R"("cmp")",
    R"("op")"};

auto values_of_params() -> std::vector<scalar> {
  std::vector<scalar> out(world().params().size());
  const auto set = [&](std::uint32_t id, scalar value) { out[world().index_of(*world().find_param(id))] = value; };
  set(1, 0.5);
  set(2, std::string("[Uu]"));
  set(4, two_to_53 + 1);
  set(5, true);
  return out;
}

/// Rows over the edge of a word, in an order, some of them inactive.
struct fixture {
  braid::arena memory;
  row_set rows = random_rows(6, memory).set(70);
  std::vector<model_row> model = testing::rows_of(rows);
  std::vector<scalar> params = values_of_params();

  static auto get() -> const fixture& {
    static const fixture once;
    return once;
  }
};

/// The naive interpreter has other regular expressions.
auto has_regex(const json& tree) -> bool { return tree.dump().find("\"regex\"") != std::string::npos; }

auto same(double a, double b) -> bool {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

void expect_values(const json& tree, const column& found) {
  const fixture& at = fixture::get();
  for (std::size_t i = 0; i < at.rows.size(); ++i) {
    const std::uint32_t row = at.rows.row(i);
    const naive_number wanted = naive_value(tree, {at.model[i], world(), at.params});
    BRAID_EXPECTS(found.is_null(row) == !wanted, "null where the naive interpreter has null");
    if (wanted) BRAID_EXPECTS(same((*found.floats())[row], testing::as_double(wanted)), "the value is the naive one");
  }
}

void expect_strings(const json& tree, const expr_program& code) {
  const fixture& at = fixture::get();
  braid::arena memory;
  const auto found = evaluate_strings(code, at.rows, at.params, memory);
  if (!found || has_regex(tree)) return;
  for (std::size_t i = 0; i < at.rows.size(); ++i) {
    const std::uint32_t row = at.rows.row(i);
    const auto wanted = naive_string(tree, {at.model[i], world(), at.params});
    BRAID_EXPECTS(found->is_null(row) == !wanted, "null where the naive interpreter has null");
    if (wanted) BRAID_EXPECTS((*found->strings())[row] == *wanted, "the string is the naive one");
  }
}

void expect_truths(const json& tree, bitmap found) {
  const fixture& at = fixture::get();
  for (std::size_t i = 0; i < at.rows.size(); ++i)
    BRAID_EXPECTS(found[i] == naive_truth(tree, {at.model[i], world(), at.params}), "the truth is the naive one");
}

template <typename Found>
void expect_evaluated(const json& tree, const Found& found) {
  if (!found) {
    BRAID_EXPECTS(found.error().code == "bad_regex" || found.error().code == "regex_pattern_null", "a known code");
    BRAID_EXPECTS(tree.contains(json::json_pointer(found.error().pointer)), "an error leads somewhere");
    return;
  }
  if (has_regex(tree)) return;
  if constexpr (std::is_same_v<typename Found::value_type, column>)
    expect_values(tree, *found);
  else
    expect_truths(tree, *found);
}

template <typename Tree, typename Compile>
void try_tree(const json& document, const braid::checked<Tree>& tree, Compile compile) {
  if (!tree) {
    expect_sound(tree.error());
    return expect_locations(tree.error(), document);
  }
  const auto code = compile(*tree, world());
  if (!code) {
    expect_sound(code.error());
    return expect_locations(code.error(), document);
  }
  if constexpr (std::is_same_v<Tree, expr_tree>) {
    if (code->gives_strings()) expect_strings(document, *code);
    if (!code->gives_numbers()) return;
  }
  for (const std::string_view name : rankd::detail::kernel_instructions()) {
    const rankd::detail::forced_instructions forced(name);
    braid::arena memory;
    expect_evaluated(document, evaluate(*code, fixture::get().rows, fixture::get().params, memory));
  }
}

void run(std::string_view text) {
  const auto document = parse_json(text, "tree");
  if (!document) return;
  try_tree(*document, parse_expr(*document, ""), compile_expr);
  try_tree(*document, parse_pred(*document, ""), compile_pred);
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
