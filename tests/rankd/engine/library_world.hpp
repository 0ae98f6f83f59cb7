// tests/rankd/engine/library_world.hpp: folders of plans whose answers say which version gave them.
#pragma once

#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/rankd/engine/engine_world.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rankd::testing {

/// A plan that writes `value` into two columns by two nodes, so that a mixture of two versions would show.
inline auto marked_plan(const std::string& name, int value) -> std::string {
  const std::string constant = R"({"op":"const_number","value":)" + std::to_string(value) + "}";
  return R"({"schema_version":1,"plan_name":")" + name + R"(","expr_table":{"a":)" + constant + R"(,"b":)" + constant +
         R"(},"outputs":["two"],"nodes":[)" + source("s", 2) + "," +
         node("one", "core::vm", "s", R"({"out_key":1001,"expr_id":"a"})") + "," +
         node("two", "core::vm", "one", R"({"out_key":1002,"expr_id":"b"})") + "]}";
}

/// The index of artifacts: name and text of each.
inline auto index_of(const std::vector<std::pair<std::string, std::string>>& artifacts) -> std::string {
  std::string rows;
  for (const auto& [name, text] : artifacts)
    rows += (rows.empty() ? "" : ",") + (R"({"name":")" + name + R"(","path":")" + name + R"(.json","digest":")") +
            sha256_hex(text) + "\"}";
  return R"({"schema_version":1,"plans":[)" + rows + "]}";
}

/// The value that the plan of an answer has written, or what is wrong with it.
inline auto mark_of(const ranking& answer) -> std::string {
  if (answer.error) return answer.error->code;
  const auto one = answer.rows.table().find(1001);
  const auto two = answer.rows.table().find(1002);
  if (!one || !two || answer.rows.size() != 2) return "incomplete";
  const double first = (*one->floats())[0];
  for (std::size_t row = 0; row < 2; ++row)
    if ((*one->floats())[row] != first || (*two->floats())[row] != first) return "mixed";
  return std::to_string(static_cast<int>(first));
}

/// Codes of all diagnostics, sorted as they come.
template <typename T>
auto codes_of(const braid::checked<T>& made) -> std::vector<std::string> {
  std::vector<std::string> codes;
  if (!made)
    for (const braid::diagnostic& each : made.error()) codes.push_back(each.code);
  return codes;
}

}  // namespace rankd::testing
