// tests/rankd/plan/shapes.hpp: operators of the tests' own, one param of every kind among them, and ways to load plans.
#pragma once

#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/registries.hpp>
#include <tests/support/scratch_folder.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::testing {

inline constexpr std::array<std::string_view, 2> orders{"asc", "desc"};

inline constexpr std::array<param_shape, 1> viewer_params{{{.name = "endpoint", .kind = param_kind::endpoint_ref}}};
inline constexpr std::array<param_shape, 2> follow_params{
    {{.name = "endpoint", .kind = param_kind::endpoint_ref},
     {.name = "fanout", .kind = param_kind::int64, .range = {.min = 1, .max = 10'000'000}}}};
inline constexpr std::array<param_shape, 2> vm_params{
    {{.name = "out_key", .kind = param_kind::key_id}, {.name = "expr_id", .kind = param_kind::expr_id}}};
inline constexpr std::array<param_shape, 1> filter_params{{{.name = "pred_id", .kind = param_kind::pred_id}}};
inline constexpr std::array<param_shape, 1> concat_params{{{.name = "rhs", .kind = param_kind::node_ref}}};
inline constexpr std::array<param_shape, 1> take_params{
    {{.name = "count", .kind = param_kind::int64, .range = {.min = 1}}}};
inline constexpr std::array<param_shape, 6> all_params{
    {{.name = "order", .kind = param_kind::enumeration, .need = presence::optional, .choices = orders},
     {.name = "weight", .kind = param_kind::float64, .need = presence::optional, .floats = {.min = 0, .max = 1}},
     {.name = "strict", .kind = param_kind::boolean, .need = presence::optional},
     {.name = "label", .kind = param_kind::string, .need = presence::nullable},
     {.name = "select", .kind = param_kind::key_ids, .need = presence::optional},
     {.name = "other", .kind = param_kind::node_ref, .need = presence::optional}}};

inline constexpr std::array<op_shape, 8> shapes{{{.name = "core::viewer", .inputs = 0, .params = viewer_params},
                                                 {.name = "core::follow", .inputs = 1, .params = follow_params},
                                                 {.name = "core::recommendation", .inputs = 1, .params = follow_params},
                                                 {.name = "core::vm", .inputs = 1, .params = vm_params},
                                                 {.name = "core::filter", .inputs = 1, .params = filter_params},
                                                 {.name = "core::concat", .inputs = 1, .params = concat_params},
                                                 {.name = "core::take", .inputs = 1, .params = take_params},
                                                 {.name = "test::all", .inputs = 1, .params = all_params}}};

inline constexpr op_shapes ops{shapes};

/// The registries of the repository and two capabilities, of which the second is blocked.
inline auto declared() -> const registries& {
  static const registries once = [] {
    const braid::testing::scratch_folder folder;
    for (const char* name : {"keys.toml", "params.toml", "endpoints.test.toml"})
      std::filesystem::copy_file(std::filesystem::path("registry") / name, folder.path() / name);
    folder.write("capabilities.toml",
                 "[[capability]]\nid = \"cap.rfc.0001.math.v1\"\nname = \"math\"\n"
                 "[[capability]]\nid = \"cap.rfc.0002.old.v1\"\nname = \"old\"\nstatus = \"blocked\"\n"
                 "[[capability]]\nid = \"cap.rfc.0003.more.v1\"\nname = \"more\"\n");
    return registries::load(folder.path(), "test").value();
  }();
  return once;
}

/// These and the one that the engine has code for.
inline constexpr std::array<std::string_view, 4> capabilities{"cap.rfc.0001.arithmetic.v1", "cap.rfc.0001.math.v1",
                                                              "cap.rfc.0002.old.v1", "cap.rfc.0003.more.v1"};

inline auto rules() -> plan_rules { return {.ops = ops, .declared = declared(), .capabilities = capabilities}; }

/// "code pointer node" of each diagnostic, the node only where there is one.
inline auto list(const braid::diagnostics& problems) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& item : problems)
    out.push_back(item.code + " " + item.pointer + (item.node.empty() ? "" : " " + item.node));
  return out;
}

/// The diagnostics about an artifact; none where it is right.
inline auto diagnostics(std::string_view text) -> std::vector<std::string> {
  const auto read = parse_plan(text, "x.json", rules());
  return read ? std::vector<std::string>() : list(read.error());
}

}  // namespace rankd::testing
