// tests/rankd/expr/expr_world.hpp: registries with a key and a param of each kind.
#pragma once

#include <rankd/registry/registries.hpp>
#include <tests/support/scratch_folder.hpp>

#include <stdexcept>

namespace rankd::testing {

inline constexpr const char* keys_toml = R"(
[[key]]
key_id = 1
name = "id"
type = "int"
nullable = false
allow_write = false
[[key]]
key_id = 1001
name = "score"
type = "float"
nullable = true
[[key]]
key_id = 1002
name = "full_score"
type = "float"
nullable = true
[[key]]
key_id = 1501
name = "count"
type = "int"
nullable = true
[[key]]
key_id = 1502
name = "flag"
type = "bool"
nullable = true
[[key]]
key_id = 3001
name = "country"
type = "string"
nullable = true
[[key]]
key_id = 3002
name = "title"
type = "string"
nullable = true
[[key]]
key_id = 4001
name = "features"
type = "vector"
dimensions = 4
nullable = true
[[key]]
key_id = 5001
name = "old"
type = "float"
nullable = true
status = "blocked"
replaced_by = 1001
[[key]]
key_id = 5002
name = "secret"
type = "float"
nullable = true
allow_read = false
[[key]]
key_id = 9000
name = "absent"
type = "float"
nullable = true
)";

inline constexpr const char* params_toml = R"(
[[param]]
param_id = 1
name = "weight"
type = "float"
nullable = false
default = 0.5
[[param]]
param_id = 2
name = "pattern"
type = "string"
nullable = true
[[param]]
param_id = 3
name = "cutoff"
type = "float"
nullable = true
[[param]]
param_id = 4
name = "limit"
type = "int"
nullable = true
[[param]]
param_id = 5
name = "switch"
type = "bool"
nullable = true
[[param]]
param_id = 6
name = "old_param"
type = "float"
nullable = true
status = "blocked"
[[param]]
param_id = 7
name = "secret_param"
type = "float"
nullable = true
allow_read = false
)";

/// The keys of tests/rankd/rows/rows_model.hpp and some that plans may not use. Params: 1 float, 2 string, 3 float
/// without default, 4 int, 5 bool, 6 blocked, 7 unreadable.
inline auto world() -> const registries& {
  static const registries loaded = [] {
    const braid::testing::scratch_folder folder;
    folder.write("keys.toml", keys_toml);
    folder.write("params.toml", params_toml);
    for (const char* empty : {"endpoints.dev.toml", "capabilities.toml"}) folder.write(empty, "");
    auto made = registries::load(folder.path(), "dev");
    if (!made) throw std::runtime_error(made.error().to_text());
    return std::move(*made);
  }();
  return loaded;
}

}  // namespace rankd::testing
