// tests/rankd/expr/random_trees.hpp: random expressions and predicates as JSON.
#pragma once

#include <tests/rankd/rows/rows_model.hpp>

#include <braid/base/random.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::testing {

/// Makes trees that depend on the seed only.
class random_trees {
 public:
  explicit random_trees(std::uint64_t seed) : random_(seed) {}

  auto value(std::size_t depth) -> nlohmann::json {
    if (depth == 0 || below(5) == 0) return leaf();
    constexpr std::array<const char*, 8> functions{"neg", "abs", "floor", "ceil", "sqrt", "exp", "log", "log1p"};
    constexpr std::array<const char*, 4> pairs{"div", "min", "max", "pow"};
    switch (below(12)) {
      case 11: return measured(depth - 1);
      case 9: return pair("mod", value(depth - 1), value(depth - 1));
      case 10: return {{"op", "bucket"}, {"x", whole()}, {"count", 1 + below(9)}, {"seed", below(2) == 0 ? "" : "b"}};
      case 0: return {{"op", "neg"}, {"x", value(depth - 1)}};
      case 5: return {{"op", functions[below(functions.size())]}, {"x", value(depth - 1)}};
      case 6: return pair(pairs[below(pairs.size())], value(depth - 1), value(depth - 1));
      case 7: return {{"op", "clamp"}, {"x", value(depth - 1)}, {"lo", value(below(2))}, {"hi", value(below(2))}};
      case 8: return {{"op", "if"}, {"pred", truth(depth - 1)}, {"a", value(depth - 1)}, {"b", value(depth - 1)}};
      case 1: return pair("add", value(depth - 1), value(depth - 1));
      case 2: return pair("sub", value(depth - 1), value(depth - 1));
      case 3: return pair("mul", value(depth - 1), value(depth - 1));
      default: return pair("coalesce", value(depth - 1), value(depth - 1));
    }
  }

  /// What is a string or null, of at most so many levels.
  auto string(std::size_t depth) -> nlohmann::json {
    if (depth == 0) return text_leaf();
    switch (below(5)) {
      case 0: return {{"op", "if"}, {"pred", truth(1)}, {"a", string(depth - 1)}, {"b", string(depth - 1)}};
      case 1: return pair("coalesce", string(depth - 1), string(depth - 1));
      default: return pair("concat", string(depth - 1), string(depth - 1));
    }
  }

  /// What is an integer or null, of at most so many levels.
  auto integers(std::size_t depth) -> nlohmann::json {
    if (depth == 0) return whole();
    switch (below(4)) {
      case 0: return {{"op", "bucket"}, {"x", integers(depth - 1)}, {"count", 1 + below(99)}};
      case 1: return pair("mod", integers(depth - 1), integers(depth - 1));
      case 2: return {{"op", "if"}, {"pred", truth(1)}, {"a", integers(depth - 1)}, {"b", integers(depth - 1)}};
      default: return pair("coalesce", integers(depth - 1), whole());
    }
  }

  auto truth(std::size_t depth) -> nlohmann::json {
    if (depth == 0 || below(4) == 0) return test();
    switch (below(3)) {
      case 0: return {{"op", "not"}, {"x", truth(depth - 1)}};
      case 1: return pair("and", truth(depth - 1), truth(depth - 1));
      default: return pair("or", truth(depth - 1), truth(depth - 1));
    }
  }

 private:
  auto below(std::size_t bound) -> std::size_t { return random_.below(bound); }

  template <typename Range>
  auto pick(const Range& from) {
    return from[below(from.size())];
  }

  static auto pair(const char* op, nlohmann::json a, nlohmann::json b) -> nlohmann::json {
    return {{"op", op}, {"a", std::move(a)}, {"b", std::move(b)}};
  }

  auto text_leaf() -> nlohmann::json {
    constexpr std::array<const char*, 4> texts{"", " ", "\u00e9\u20ac", "US"};
    switch (below(5)) {
      case 0: return {{"op", "const_text"}, {"value", pick(texts)}};
      case 1: return {{"op", "param_ref"}, {"param_id", 2}};
      case 2: return below(4) == 0 ? nlohmann::json{{"op", "const_null"}} : text_leaf();
      default: return {{"op", "key_ref"}, {"key_id", text()}};
    }
  }

  /// A number that a string has.
  auto measured(std::size_t depth) -> nlohmann::json {
    if (below(2) == 0) return {{"op", "length"}, {"x", string(depth)}};
    return {{"op", "bucket_text"}, {"x", string(depth)}, {"count", 1 + below(9)}, {"seed", below(2) == 0 ? "" : "b"}};
  }

  auto literal() -> nlohmann::json {
    return below(2) == 0 ? nlohmann::json(pick(hard_integers)) : nlohmann::json(pick(hard_floats));
  }

  auto leaf() -> nlohmann::json {
    constexpr std::array<std::uint32_t, 9> keys{1,        1,        float_key,      full_float_key, int_key,
                                                bool_key, text_key, other_text_key, absent_key};
    switch (below(8)) {
      case 0: return {{"op", "const_null"}};
      case 1:
      case 2: return {{"op", "const_number"}, {"value", literal()}};
      case 3: return {{"op", "param_ref"}, {"param_id", 1 + below(5)}};
      default: return {{"op", "key_ref"}, {"key_id", pick(keys)}};
    }
  }

  /// What is an integer or null.
  auto whole() -> nlohmann::json {
    switch (below(4)) {
      case 0: return {{"op", "param_ref"}, {"param_id", 4}};
      case 1: return {{"op", "const_number"}, {"value", pick(hard_integers)}};
      case 2: return below(2) == 0 ? measured(below(2)) : pair("mod", whole(), whole());
      default: return {{"op", "key_ref"}, {"key_id", below(2) == 0 ? std::uint32_t{1} : int_key}};
    }
  }

  auto source() -> nlohmann::json {
    constexpr std::array<const char*, 4> texts{"US", "", "U", "zz"};
    switch (below(4)) {
      case 0: return {{"kind", "literal"}, {"value", pick(texts)}};
      case 1: return {{"kind", "param"}, {"param_id", 2}};
      default: return {{"kind", "key"}, {"key_id", text()}};
    }
  }

  auto test() -> nlohmann::json {
    constexpr std::array<const char*, 6> comparisons{"==", "!=", "<", "<=", ">", ">="};
    constexpr std::array<const char*, 4> relations{"cmp_text", "starts_with", "ends_with", "contains"};
    switch (below(10)) {
      case 5:
      case 6: {
        nlohmann::json out = pair(pick(relations), source(), source());
        if (out["op"] == "cmp_text") out["cmp"] = pick(comparisons);
        return out;
      }
      case 0: return {{"op", below(2) == 0 ? "is_null" : "not_null"}, {"x", value(below(2))}};
      case 1: return {{"op", "in"}, {"lhs", value(below(2))}, {"list", numbers()}};
      case 2: return {{"op", "in"}, {"lhs", {{"op", "key_ref"}, {"key_id", text()}}}, {"list", {"US", "", "zz"}}};
      case 3: return regex();
      case 4: return {{"op", "const_bool"}, {"value", below(2) == 0}};
      default: {
        nlohmann::json out = pair("cmp", value(below(3)), value(below(3)));
        out["cmp"] = pick(comparisons);
        return out;
      }
    }
  }

  auto text() -> std::uint32_t { return below(2) == 0 ? text_key : other_text_key; }

  auto numbers() -> nlohmann::json {
    nlohmann::json out = nlohmann::json::array();
    for (std::size_t left = below(30); left > 0; --left) out.push_back(literal());
    return out;
  }

  auto regex() -> nlohmann::json {
    constexpr std::array<const char*, 5> patterns{"US", "^u", "", "A$", "[0-9]"};
    nlohmann::json pattern = {{"kind", "param"}, {"param_id", 2}};
    if (below(2) == 0) pattern = {{"kind", "literal"}, {"value", pick(patterns)}};
    return {{"op", "regex"}, {"key_id", text()}, {"pattern", pattern}, {"flags", below(2) == 0 ? "" : "i"}};
  }

  braid::random_source random_;
};

}  // namespace rankd::testing
