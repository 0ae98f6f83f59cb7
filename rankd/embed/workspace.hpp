// rankd/embed/workspace.hpp: an open project with its registries, its plans and its stores.
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

/// Values that a caller can set to override those of the project file.
struct workspace_choice {
  std::string environment = {};  ///< empty: the environment in rankd.toml
  std::string store = {};        ///< the folder of an embedded store, as PATH or lmdb:PATH; empty: each endpoint's own
};

/// A project and its declarations: the registries and the experiments.
struct workspace {
  project where;
  registries declared;
  experiment_set experiments;
  /// A folder that is used instead of the folder of each embedded store. This folder is never filled from data. If the
  /// path is empty, each store uses its own folder.
  std::filesystem::path store = {};

  /// Opens the project in `folder`. If the path is empty, opens the project of the current folder.
  /// Errors: no_project; unknown_environment; store_unsupported; every diagnostic about the project, its registries,
  /// its libraries of operators (which are loaded), and its experiments.
  static auto open(const std::filesystem::path& folder, const workspace_choice& choice = {})
      -> braid::checked<workspace>;

  /// Loads and binds one plan by its name or file. Errors: unknown_plan; every error in the plan.
  [[nodiscard]] auto load_named_plan(std::string_view name_or_file) const -> braid::checked<bound_plan>;

  /// Loads and binds a plan from a file with any name in any folder, without reading an index. Errors: every error in
  /// the plan.
  [[nodiscard]] auto load_plan_file(const std::filesystem::path& file) const -> braid::checked<bound_plan>;

  /// Returns the folder of the first endpoint that is an embedded store. Errors: no_embedded_store.
  [[nodiscard]] auto embedded_folder() const -> braid::checked<std::filesystem::path>;
};

/// Returns the folder in `url`, which has the form PATH or lmdb:PATH. Errors: store_unsupported.
auto parse_store_url(std::string_view url) -> braid::checked<std::filesystem::path>;

/// Returns the folder in `url`. If `url` is empty, opens the project and returns the folder of its embedded store.
/// Errors: those of `parse_store_url` and `workspace::open`.
auto store_folder(const std::filesystem::path& project, std::string_view url) -> braid::checked<std::filesystem::path>;

/// The stores of a workspace, one for each endpoint. The entry of an endpoint that is not a store is null.
struct open_stores {
  std::vector<std::unique_ptr<store>> owned;

  [[nodiscard]] auto pointers() const -> std::vector<store*>;
};

/// Returns a function that receives the progress of loading a store from the given data folder.
using load_observer = std::function<std::function<void(const load_progress&)>(const std::filesystem::path& data)>;

/// The options for opening stores.
struct store_choice {
  server_messages words = server_messages::shown;
  load_observer observer = {};  ///< observes loads; empty: loads are not observed
};

/// Opens the store of one endpoint, or returns null if the endpoint is not a store. If an embedded store does not exist
/// yet, it is filled from the project's data. Does not connect to Redis servers yet.
auto open_endpoint_store(const workspace& workspace, const endpoint_entry& endpoint, const store_choice& choice = {})
    -> braid::checked<std::unique_ptr<store>>;

/// Opens the stores of all endpoints, each as `open_endpoint_store` does.
auto open_all_stores(const workspace& workspace, const store_choice& choice = {}) -> braid::checked<open_stores>;

/// Returns whether the plan or its fallback plan uses the endpoint.
auto reads_endpoint(const bound_plan& plan, const endpoint_entry& endpoint) -> bool;

/// Opens the stores that these plans and their fallback plans read. All other stores are null. So a plan that reads no
/// store can run even if the project's store is missing.
auto open_plan_stores(const workspace& workspace, std::span<const bound_plan* const> plans,
                      const store_choice& choice = {}) -> braid::checked<open_stores>;

}  // namespace rankd
