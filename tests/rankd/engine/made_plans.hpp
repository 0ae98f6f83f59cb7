// tests/rankd/engine/made_plans.hpp: plans that a seed makes.
#pragma once

#include <tests/rankd/engine/engine_world.hpp>

#include <braid/base/random.hpp>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace rankd::testing {

/// Plans that depend on the seed only: sources and viewers, then operators of all kinds on any of the nodes before.
class plan_maker {
 public:
  explicit plan_maker(std::uint64_t seed) : random_(seed) {}

  auto make() -> std::string {
    add(node(next(), "core::viewer", "", R"({"endpoint":"ep_0001"})"));
    add(source(next(), static_cast<int>(random_.below(4) == 0 ? 1500 + random_.below(1000) : random_.below(6))));
    const std::size_t more = 4 + random_.below(8);
    for (std::size_t i = 0; i < more; ++i) add_operator(pick());
    std::string outputs;
    for (const std::string& id : unused_) outputs += (outputs.empty() ? "\"" : ",\"") + id + "\"";
    return artifact_of(
        nodes_, outputs,
        R"("capabilities_required":["cap.rfc.0001.arithmetic.v1"],)"
        R"("expr_table":{"e":{"op":"if","pred":{"op":"cmp","cmp":"<","a":{"op":"key_ref","key_id":1},)"
        R"("b":{"op":"const_number","value":1000}},"a":{"op":"mul","a":{"op":"key_ref","key_id":1},)"
        R"("b":{"op":"coalesce","a":{"op":"param_ref","param_id":1},"b":{"op":"const_number","value":0.1}}},)"
        R"("b":{"op":"coalesce","a":{"op":"log","x":{"op":"sub","a":{"op":"key_ref","key_id":1},)"
        R"("b":{"op":"const_number","value":1500}}},"b":{"op":"const_number","value":3}}},)"
        R"("n":{"op":"key_ref","key_id":2001}},)"
        R"("pred_table":{"p":{"op":"cmp","cmp":"<","a":{"op":"key_ref","key_id":2001},)"
        R"("b":{"op":"const_number","value":2}},"c":{"op":"not_null","x":{"op":"key_ref","key_id":3001}}},)");
  }

 private:
  auto next() -> std::string { return "n" + std::to_string(count_++); }

  auto pick() -> std::string {
    const std::string id = "n" + std::to_string(random_.below(count_));
    unused_.erase(id);
    return id;
  }

  void add(const std::string& text) {
    nodes_ += (nodes_.empty() ? "" : ",") + text;
    unused_.insert("n" + std::to_string(count_ - 1));
  }

  void add_operator(const std::string& from) {
    const std::string list = R"({"endpoint":"ep_0001","fanout":)" + std::to_string(1 + random_.below(4)) + "}";
    switch (random_.below(17)) {
      case 0: return add(sleep(next(), from, static_cast<int>(random_.below(3))));
      case 1: return add(sleep(next(), from, static_cast<int>(random_.below(3)), sometimes_failing()));
      case 2: return add(busy(next(), from, static_cast<int>(random_.below(2))));
      case 3: return add(node(next(), "core::vm", from, R"({"out_key":2001,"expr_id":"e"})"));
      case 4: return add(node(next(), "core::vm", from, R"({"out_key":1001,"expr_id":"n"})"));  // fails on nulls
      case 5: return add(node(next(), "core::filter", from, R"({"pred_id":"p"})"));
      case 6: return add(node(next(), "core::filter", from, R"({"pred_id":"c"})"));
      case 7: return add(node(next(), "core::sort", from, R"({"by":3001,"order":"desc"})"));
      case 8: return add(node(next(), "core::take", from, R"({"count":7})"));
      case 9: return add(node(next(), "core::follow", from, list));
      case 10: return add(node(next(), "core::dedupe", from, R"({"by":3001,"strategy":"last"})"));
      case 11: return add(node(next(), "core::dedupe", from, R"({"strategy":"max_by","score_key":2001})"));
      case 12: return add_join(from);
      case 13: return add_fetch(from);
      case 14: return add_extract(from);
      case 15: return add_diversify(from);
      default: {
        const std::string other = pick();
        return add(node(next(), "core::concat", from, R"({"rhs":")" + other + "\"}"));
      }
    }
  }

  /// A join with rows that are there once. Only one node writes 1002, since none may write over a column.
  void add_join(const std::string& from) {
    const std::string other = pick();
    const std::string once = next();
    add(node(once, "core::dedupe", other));
    unused_.erase(once);
    const std::string adding =
        writers_++ == 0 ? R"(,"how":"left","select":[2001],"map":[1002],"on_missing":"default"})" : R"(,"how":"anti"})";
    add(node(next(), "core::join", from, R"({"rhs":")" + once + "\"" + adding));
  }

  /// Only the first writes 3002, since none may write over a column; behind it there are others.
  void add_fetch(const std::string& from) {
    if (fetches_++ != 0) return add(node(next(), "core::take", from, R"({"count":9})"));
    add(node(next(), "core::fetch_features", from, R"({"endpoint":"ep_0001","keys":[3002],"hash":"user"})"));
  }

  /// A feature under 1002 where nothing else writes it; `log1p` fails on the ids -1 and less.
  void add_extract(const std::string& from) {
    if (writers_++ != 0) return add(node(next(), "core::take", from, R"({"count":11})"));
    constexpr std::array<std::string_view, 5> features{
        R"("transform":"one_hot","keys":[3001],"values":["US"])", R"("transform":"is_null","keys":[3001])",
        R"("transform":"bucket","keys":[1],"boundaries":[1,2.5,1000])", R"("transform":"log1p","keys":[1])",
        R"("transform":"clip","keys":[2001],"min":0.25,"max":0.75)"};
    const std::string feature(features[random_.below(features.size())]);
    add(node(next(), "core::extract_features", from, R"({"out_keys":[1002],)" + feature + "}"));
  }

  void add_diversify(const std::string& from) {
    constexpr std::array<std::string_view, 3> rules{R"("strategy":"window","at_most":1,"window":3)",
                                                    R"("strategy":"window","at_most":2,"overflow":"drop")",
                                                    R"("strategy":"quota","values":["US"],"every_nth":3)"};
    const std::string rule(rules[random_.below(rules.size())]);
    add(node(next(), "core::diversify", from, R"({"by":3001,)" + rule + "}"));
  }

  auto sometimes_failing() -> sleep_end { return random_.below(2) == 0 ? sleep_end::failing : sleep_end::well; }

  braid::random_source random_;
  std::size_t count_ = 0;
  std::size_t writers_ = 0;  ///< nodes that write 1002, or would have
  std::size_t fetches_ = 0;
  std::string nodes_;
  std::set<std::string> unused_;
};

}  // namespace rankd::testing
