// rankd/registry/project.hpp: the project file rankd.toml. It marks the root of a project and names its folders.
#pragma once

#include <rankd/registry/budgets.hpp>
#include <rankd/registry/shadows.hpp>

#include <braid/base/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

inline constexpr std::array<std::string_view, 3> environments{"dev", "test", "prod"};
inline constexpr std::string_view project_file = "rankd.toml";

/// Settings for signing page cursors.
struct cursor_settings {
  std::string key;                     ///< empty if there is no key: then no plan returns pages
  std::chrono::seconds max_age{3600};  ///< the maximum age of a cursor that is accepted
};

/// The limits of a server's row cache. They apply to all loops together.
struct cache_settings {
  std::uint64_t mib = 64;  ///< the memory; 0: no cache
  std::uint64_t entries = 65'536;
};

/// The limits of a server's cache for values from remote stores, and the maximum age of its values. The limits apply to
/// all loops together.
struct record_cache_settings {
  std::uint64_t mib = 0;  ///< the memory; 0: no cache
  std::uint64_t entries = 1'000'000;
  std::chrono::milliseconds age{1'000};            ///< the maximum age if the server reports no changes
  std::chrono::milliseconds absent_age{1'000};     ///< the same for absent values
  std::chrono::milliseconds tracked_age{600'000};  ///< the maximum age if the server reports changes
  bool tracking = true;                            ///< whether servers are asked to report changes
};

/// The environment variable that overrides the cursor key in rankd.toml.
inline constexpr const char* cursor_key_variable = "RANKD_CURSOR_KEY";

/// The minimum length of a cursor key in bytes.
inline constexpr std::size_t min_cursor_key = 16;

/// The settings of one project. Its folders are relative to the root in rankd.toml, and have been resolved here.
struct project {
  std::filesystem::path root;
  std::string name;
  std::string environment;                       ///< one of `environments`
  std::filesystem::path registry;                ///< folder of the registries
  std::filesystem::path plans;                   ///< folder of the compiled artifacts
  std::optional<std::filesystem::path> data;     ///< folder of NDJSON that fills an embedded store on first use
  std::filesystem::path models;                  ///< folder of the models that plans call; empty if there are none
  std::vector<std::filesystem::path> operators;  ///< libraries of the project's own operators
  plan_budgets budgets;                          ///< limits for requests to the plans
  cursor_settings cursors = {};                  ///< for the pages of rankings
  cache_settings cache = {};
  record_cache_settings records = {};
  std::vector<shadow_settings> shadows = {};  ///< plans that a server runs as shadows of other plans
  std::vector<std::string> redacted;          ///< names whose values are hidden in the audit of a server

  /// Returns the nearest folder that contains rankd.toml, from `start` upwards.
  static auto find(const std::filesystem::path& start) -> std::optional<std::filesystem::path>;

  /// Reads rankd.toml. `path` is the file or its folder.
  /// Errors: all diagnostics about the file.
  static auto load(const std::filesystem::path& path) -> braid::checked<project>;
};

}  // namespace rankd
