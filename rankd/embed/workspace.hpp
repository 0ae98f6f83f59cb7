// rankd/embed/workspace.hpp: an open project: its registries, its plans, its stores.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/registry/experiments.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/error.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// What a caller chooses in place of the values of a project.
struct workspace_choice {
  std::string environment = {};  ///< empty: that of rankd.toml
  std::string store = {};        ///< the folder of an embedded store, as PATH or lmdb:PATH; empty: each endpoint's own
};

/// A project and its declarations.
struct workspace {
  project where;
  registries declared;
  experiment_set experiments;
  std::filesystem::path store = {};  ///< replaces the folder of each embedded store, and is never filled; or empty

  /// Opens the project in `folder`; with an empty path, the project of the current folder.
  /// Errors: no_project; unknown_environment; store_unsupported; every diagnostic about the project, its registries,
  /// its libraries of operators, which it loads, and its experiments.
  static auto open(const std::filesystem::path& folder, const workspace_choice& choice = {})
      -> braid::checked<workspace>;

  /// Loads and binds one plan by its name or file. Errors: unknown_plan; every error in it.
  [[nodiscard]] auto load_named_plan(std::string_view name_or_file) const -> braid::checked<bound_plan>;

  /// Does the same for a file that may have any name and be in any folder: no index is read. Errors: every error in it.
  [[nodiscard]] auto load_plan_file(const std::filesystem::path& file) const -> braid::checked<bound_plan>;

  /// Returns the folder of the first endpoint whose resolver is the embedded store. Errors: no_embedded_store.
  [[nodiscard]] auto embedded_folder() const -> braid::checked<std::filesystem::path>;
};

/// Returns the folder that `url` names, as PATH or lmdb:PATH. Errors: store_unsupported.
auto parse_store_url(std::string_view url) -> braid::checked<std::filesystem::path>;

/// Returns the same; with an empty `url`, the embedded store of the project, which is opened as `workspace::open` does.
/// Errors: those of both.
auto store_folder(const std::filesystem::path& project, std::string_view url) -> braid::checked<std::filesystem::path>;

/// The stores of a workspace, one for each endpoint; null if an endpoint is not a store.
struct open_stores {
  std::vector<std::unique_ptr<store>> owned;

  [[nodiscard]] auto pointers() const -> std::vector<store*>;
};

/// Returns the function that receives the progress of a load of this folder of data.
using load_observer = std::function<std::function<void(const load_progress&)>(const std::filesystem::path& data)>;

/// How stores are opened.
struct store_choice {
  server_messages words = server_messages::shown;
  load_observer observer = {};  ///< of loads; empty: nobody observes them
};

/// Opens the store of one endpoint; null if the endpoint is not a store. An embedded store that does not exist yet is
/// filled from the project's data first. Redis servers are not asked yet.
auto open_store_of(const workspace& workspace, const endpoint_entry& endpoint, const store_choice& choice = {})
    -> braid::checked<std::unique_ptr<store>>;

/// Does the same for all endpoints.
auto open_all_stores(const workspace& workspace, const store_choice& choice = {}) -> braid::checked<open_stores>;

/// Returns whether the plan, or a plan that may answer in its place, names the endpoint.
auto reads_endpoint(const bound_plan& plan, const endpoint_entry& endpoint) -> bool;

/// Opens the stores that these plans and their fallback plans read; the others are null. So a plan that reads no store
/// runs in a project whose store is missing.
auto open_plan_stores(const workspace& workspace, std::span<const bound_plan* const> plans,
                      const store_choice& choice = {}) -> braid::checked<open_stores>;

}  // namespace rankd
