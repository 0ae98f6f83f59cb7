// tests/rankd/expr/naive.hpp: expressions and predicates evaluated row by row, straight from their JSON.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace rankd::testing {

/// Null, or an exact integer, or a double.
using naive_number = std::optional<std::variant<std::int64_t, double>>;

/// One row, and the values of params in the order of the registries.
struct naive_row {
  const model_row& row;
  const registries& known;
  std::span<const scalar> params;

  [[nodiscard]] auto cell_of_key(std::uint32_t key) const -> cell {
    if (key == registries::id_key) return row.id;
    const auto found = row.fields.find(key);
    return found == row.fields.end() ? cell() : found->second;
  }
  [[nodiscard]] auto param(std::uint32_t id) const -> const scalar& {
    return params[known.index_of(*known.find_param(id))];
  }
};

inline auto as_double(const naive_number& value) -> double {
  return std::visit([](auto v) { return static_cast<double>(v); }, *value);
}

/// Long doubles hold every int64 and every double, so they compare both exactly.
inline auto as_long(const naive_number& value) -> long double {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  return std::visit([](auto v) { return static_cast<long double>(v); }, *value);
}

/// Returns whether a number of a tree is a float: one with a point or an exponent, or an integer beyond int64.
inline auto is_float(const nlohmann::json& value) -> bool {
  return value.is_number_float() ||
         (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()));
}

/// False when every value that the tree can give is an integer or null.
inline auto may_be_fraction(const nlohmann::json& tree, const registries& known) -> bool {
  const std::string op = tree["op"];
  if (op == "const_number") return is_float(tree["value"]);
  if (op == "const_null") return false;
  if (op == "key_ref") return known.find_key(tree["key_id"].get<std::uint32_t>())->type == value_type::floating;
  if (op == "param_ref") return known.find_param(tree["param_id"].get<std::uint32_t>())->type == value_type::floating;
  if (op == "bucket" || op == "length" || op == "bucket_text") return false;
  if (op == "coalesce" || op == "if" || op == "mod")
    return may_be_fraction(tree["a"], known) || may_be_fraction(tree["b"], known);
  return true;
}

template <typename Value>
auto number_in_cell(const Value& value) -> naive_number {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* fraction = std::get_if<double>(&value)) return *fraction;
  if (const auto* flag = std::get_if<bool>(&value)) return std::int64_t{*flag ? 1 : 0};
  return {};
}

/// What is no finite number is null.
inline auto finite(double value) -> naive_number { return std::isfinite(value) ? naive_number(value) : naive_number(); }

inline auto naive_function(const std::string& op, double x) -> double {
  if (op == "abs") return std::fabs(x);
  if (op == "floor") return std::floor(x);
  if (op == "ceil") return std::ceil(x);
  if (op == "sqrt") return std::sqrt(x);
  if (op == "exp") return std::exp(x);
  if (op == "log") return std::log(x);
  return std::log1p(x);
}

/// Of div, min, max and pow. An operand that is no number makes the result none.
inline auto naive_function(const std::string& op, double a, double b) -> double {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (op == "div") return a / b;
  if (op == "min") return b < a ? b : a;
  if (op == "max") return b > a ? b : a;
  return std::pow(a, b);
}

inline auto naive_clamp(const naive_number& x, const naive_number& lo, const naive_number& hi) -> naive_number {
  if (!x || !lo || !hi || !(as_double(lo) <= as_double(hi))) return {};
  if (as_double(x) < as_double(lo)) return finite(as_double(lo));
  return finite(as_double(x) > as_double(hi) ? as_double(hi) : as_double(x));
}

/// Of two integers exactly, otherwise as the C library has it.
inline auto naive_remainder(const naive_number& a, const naive_number& b, bool fraction) -> naive_number {
  if (!a || !b) return {};
  if (fraction) return finite(std::fmod(as_double(a), as_double(b)));
  const std::int64_t divisor = std::get<std::int64_t>(*b);
  if (divisor == 0) return {};
  return divisor == -1 ? 0 : std::get<std::int64_t>(*a) % divisor;
}

inline auto naive_hash(const std::string& text) -> std::uint64_t {
  std::uint64_t hash = 14695981039346656037U;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211U;
  return hash;
}

/// FNV-1a of the seed, and SplitMix64 of it and the id.
inline auto naive_bucket(const nlohmann::json& tree, const naive_number& x) -> naive_number {
  if (!x) return {};
  const auto mixed = [](std::uint64_t word) {
    word += 11400714819323198485U;
    word = (word ^ (word >> 30U)) * 13787848793156543929U;
    word = (word ^ (word >> 27U)) * 10723151780598845931U;
    return word ^ (word >> 31U);
  };
  const std::uint64_t hash = naive_hash(tree.value("seed", std::string()));
  const auto id = static_cast<std::uint64_t>(std::get<std::int64_t>(*x));
  return static_cast<std::int64_t>(mixed(hash ^ mixed(id)) % tree["count"].get<std::uint64_t>());
}

inline auto naive_truth(const nlohmann::json& tree, const naive_row& at) -> bool;

/// The value of an expression that is taken for a string; nothing where it is null.
inline auto naive_string(const nlohmann::json& tree, const naive_row& at) -> std::optional<std::string> {
  const std::string op = tree["op"];
  const auto text_in = [](const auto& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? std::optional<std::string>() : std::optional(*text);
  };
  if (op == "const_text") return tree["value"].get<std::string>();
  if (op == "key_ref") return text_in(at.cell_of_key(tree["key_id"]));
  if (op == "param_ref") return text_in(at.param(tree["param_id"]));
  if (op == "if") return naive_string(tree[naive_truth(tree["pred"], at) ? "a" : "b"], at);
  if (op == "const_null") return {};
  const auto a = naive_string(tree["a"], at);
  const auto b = naive_string(tree["b"], at);
  if (op == "coalesce") return a ? a : b;
  if (!a || !b || a->size() + b->size() > 65'536) return {};
  return *a + *b;
}

/// How many bytes begin a code point.
inline auto naive_length(const std::optional<std::string>& text) -> naive_number {
  if (!text) return {};
  return static_cast<std::int64_t>(
      std::ranges::count_if(*text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0U) != 0x80U; }));
}

inline auto naive_value(const nlohmann::json& tree, const naive_row& at) -> naive_number {
  const std::string op = tree["op"];
  if (op == "length") return naive_length(naive_string(tree["x"], at));
  if (op == "bucket_text") {
    const auto text = naive_string(tree["x"], at);
    return naive_bucket(tree, text ? naive_number(static_cast<std::int64_t>(naive_hash(*text))) : naive_number());
  }
  if (op == "const_null") return {};
  if (op == "const_number") {
    if (is_float(tree["value"])) return tree["value"].get<double>();
    return tree["value"].get<std::int64_t>();
  }
  if (op == "key_ref") return number_in_cell(at.cell_of_key(tree["key_id"]));
  if (op == "param_ref") return number_in_cell(at.param(tree["param_id"]));
  if (op == "neg") {
    const naive_number x = naive_value(tree["x"], at);
    return x ? naive_number(-as_double(x)) : naive_number();
  }
  if (op == "bucket") return naive_bucket(tree, naive_value(tree["x"], at));
  if (op == "mod")
    return naive_remainder(naive_value(tree["a"], at), naive_value(tree["b"], at), may_be_fraction(tree, at.known));
  if (op == "clamp")
    return naive_clamp(naive_value(tree["x"], at), naive_value(tree["lo"], at), naive_value(tree["hi"], at));
  if (tree.contains("x")) {
    const naive_number x = naive_value(tree["x"], at);
    return x ? finite(naive_function(op, as_double(x))) : naive_number();
  }
  if (op == "if") {
    const naive_number chosen = naive_value(tree[naive_truth(tree["pred"], at) ? "a" : "b"], at);
    return chosen && may_be_fraction(tree, at.known) ? naive_number(as_double(chosen)) : chosen;
  }
  const naive_number a = naive_value(tree["a"], at);
  const naive_number b = naive_value(tree["b"], at);
  if (op == "coalesce") {
    const naive_number chosen = a ? a : b;
    return chosen && may_be_fraction(tree, at.known) ? naive_number(as_double(chosen)) : chosen;
  }
  if (!a || !b) return {};
  if (op == "add") return as_double(a) + as_double(b);
  if (op == "sub") return as_double(a) - as_double(b);
  if (op == "mul") return as_double(a) * as_double(b);
  return finite(naive_function(op, as_double(a), as_double(b)));
}

/// A key or param may be there without being a number.
inline auto naive_null(const nlohmann::json& tree, const naive_row& at) -> bool {
  if (tree["op"] == "key_ref") return at.cell_of_key(tree["key_id"]).index() == 0;
  if (tree["op"] == "param_ref") return is_null(at.param(tree["param_id"]));
  return !naive_value(tree, at).has_value();
}

inline auto naive_compare(const nlohmann::json& tree, const naive_row& at) -> bool {
  const std::string how = tree["cmp"];
  const bool null_on_left = tree["a"]["op"] == "const_null";
  if (null_on_left || tree["b"]["op"] == "const_null") {
    const bool null = naive_null(tree[null_on_left ? "b" : "a"], at);
    return (how == "==" && null) || (how == "!=" && !null);
  }
  const naive_number a = naive_value(tree["a"], at);
  const naive_number b = naive_value(tree["b"], at);
  if (!a || !b) return false;
  const long double left = as_long(a);
  const long double right = as_long(b);
  if (how == "==") return left == right;
  if (how == "!=") return left < right || left > right;
  if (how == "<") return left < right;
  if (how == "<=") return left <= right;
  return how == ">" ? left > right : left >= right;
}

inline auto naive_in(const nlohmann::json& tree, const naive_row& at) -> bool {
  const nlohmann::json& list = tree["list"];
  if (!list.empty() && list[0].is_string()) {
    const cell value = at.cell_of_key(tree["lhs"]["key_id"]);
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr && std::ranges::find(list, nlohmann::json(*text)) != list.end();
  }
  const naive_number x = naive_value(tree["lhs"], at);
  return x && std::ranges::any_of(list, [&x](const nlohmann::json& each) {
           const naive_number item =
               each.is_number_float() ? naive_number(each.get<double>()) : naive_number(each.get<std::int64_t>());
           return as_long(x) == as_long(item);
         });
}

/// Patterns of the tests mean the same to RE2 and to the standard library.
inline auto naive_regex(const nlohmann::json& tree, const naive_row& at) -> bool {
  const cell value = at.cell_of_key(tree["key_id"]);
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return false;
  const nlohmann::json& pattern = tree["pattern"];
  const std::string source = pattern["kind"] == "literal" ? pattern["value"].get<std::string>()
                                                          : std::get<std::string>(at.param(pattern["param_id"]));
  const auto letters = tree["flags"] == "i" ? std::regex::icase : std::regex::flag_type{};
  return std::regex_search(*text, std::regex(source, std::regex::ECMAScript | letters));
}

/// Nothing where it is null.
inline auto naive_text(const nlohmann::json& source, const naive_row& at) -> std::optional<std::string> {
  if (source["kind"] == "literal") return source["value"].get<std::string>();
  const auto text_in = [](const auto& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? std::optional<std::string>() : std::optional(*text);
  };
  if (source["kind"] == "param") return text_in(at.param(source["param_id"]));
  return text_in(at.cell_of_key(source["key_id"]));
}

inline auto naive_pair(const nlohmann::json& tree, const naive_row& at) -> bool {
  const auto a = naive_text(tree["a"], at);
  const auto b = naive_text(tree["b"], at);
  if (!a || !b) return false;
  const std::string op = tree["op"];
  if (op == "starts_with") return a->rfind(*b, 0) == 0;
  if (op == "contains") return a->find(*b) != std::string::npos;
  if (op == "ends_with") return a->size() >= b->size() && a->substr(a->size() - b->size()) == *b;
  const std::string how = tree["cmp"];
  const int order = a->compare(*b);
  if (how == "==") return order == 0;
  if (how == "!=") return order != 0;
  if (how == "<") return order < 0;
  if (how == "<=") return order <= 0;
  return how == ">" ? order > 0 : order >= 0;
}

inline auto naive_truth(const nlohmann::json& tree, const naive_row& at) -> bool {
  const std::string op = tree["op"];
  if (op == "cmp_text" || op == "starts_with" || op == "ends_with" || op == "contains") return naive_pair(tree, at);
  if (op == "const_bool") return tree["value"];
  if (op == "and") return naive_truth(tree["a"], at) && naive_truth(tree["b"], at);
  if (op == "or") return naive_truth(tree["a"], at) || naive_truth(tree["b"], at);
  if (op == "not") return !naive_truth(tree["x"], at);
  if (op == "is_null") return naive_null(tree["x"], at);
  if (op == "not_null") return !naive_null(tree["x"], at);
  if (op == "cmp") return naive_compare(tree, at);
  return op == "in" ? naive_in(tree, at) : naive_regex(tree, at);
}

}  // namespace rankd::testing
