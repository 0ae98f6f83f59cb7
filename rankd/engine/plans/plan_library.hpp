// rankd/engine/plans/plan_library.hpp: the plans of a process, which keeps running while they change.
#pragma once

#include <rankd/engine/plans/plan_set.hpp>
#include <rankd/plan/folder_image.hpp>
#include <rankd/registry/experiments.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The effect of a wrong plan on a load.
enum class bad_plans : std::uint8_t {
  refuse_all,  ///< nothing changes
  leave_out,   ///< the others change, and its previous version continues to serve
};

struct plan_library_options {
  std::size_t max_kept = 4;           ///< versions of each plan, pinned ones not counted; at least one
  file_reader read = {};              ///< for artifacts and their index; empty: from the disk
  plan_budgets budgets = {};          ///< of the plans, by their names, until a reload changes them
  experiment_set experiments = {};    ///< the same: only experiments that run at the time of a load
  std::filesystem::path models = {};  ///< the folder of the models that plans call, if there is one
  bad_plans on_bad_plan = bad_plans::refuse_all;
  std::filesystem::path root = {};  ///< of the project: paths of files of vectors are relative to it
};

/// The changes of a reload, by the names of plans.
struct reload_report {
  std::vector<std::string> added;
  std::vector<std::string> changed;  ///< they have a new version; a pinned one continues to serve
  std::vector<std::string> unchanged;
  std::vector<std::string> removed;
  std::vector<std::string> pinned_only;         ///< no longer in the folder; they serve until they are unpinned
  std::vector<left_out_plan> left_out;          ///< only with `bad_plans::leave_out`
  braid::diagnostics warnings;                  ///< about plans that were added or changed
  bool registries_changed = false;              ///< all plans were bound again because of it
  bool shadows_changed = false;                 ///< other plans run as shadows, or for other requests
  std::vector<std::string> until_restart = {};  ///< sentences: changes of the registries that were left out
};

/// Reports what is wrong with something that names plans, if these are all plans.
using plan_name_check = std::function<braid::diagnostics(const std::vector<std::string>& plans)>;

/// The state of one version of a plan at one moment.
struct plan_version_info {
  std::string name;
  std::uint64_t number = 0;
  std::string digest;  ///< as bound_plan::digest
  std::chrono::system_clock::time_point loaded_at;
  bool serves = false;
  bool pinned = false;
  std::size_t users = 0;  ///< handles, and sets, that are held outside of the library
};

/// Holds bound plans by name and puts new ones in place while requests run. A request keeps the handle that it began
/// with, so that it ends on the version on which it began. Protocol: docs/design/plan_library.md
/// Threads: any. Lifetime: the registries that it begins with outlive it and what it hands out; those of reloads live
/// as long as a plan that is bound to them.
class plan_library {
 public:
  explicit plan_library(const registries& declared, plan_library_options options = {});
  plan_library(const plan_library&) = delete;
  auto operator=(const plan_library&) -> plan_library& = delete;

  /// Reads and binds all artifacts of a folder in the background, then serves all of them from one moment on. Artifacts
  /// whose bytes, or the bytes of a model that they call, have changed get a new version; plans that are no longer in
  /// the folder are gone, unless they are pinned. If anything is wrong, nothing changes. With `bad_plans::leave_out`, a
  /// plan that is wrong by itself, or by a model that it calls, is left out, and its last right version continues to
  /// serve, if there is one. Reloads wait for each other; readers never wait for a reload. `budgets`, if given, are the
  /// plans' budgets from now on, and so are `experiments`; a plan whose budget or running experiments change gets a new
  /// version, too. With `declared`, which has the same endpoints, all plans are bound to these registries, as new
  /// versions; versions that are in use or pinned keep theirs. Problems that `also` reports are problems of the reload,
  /// too. Blocks: on the disk. Errors: every diagnostic at once: those of `read_folder_image`, `load_plan`,
  /// `bind_plan`, `add_experiments`, and of `strangers` of both; no_artifacts if the folder has none.
  auto reload(const std::filesystem::path& folder, std::optional<plan_budgets> budgets = std::nullopt,
              std::optional<experiment_set> experiments = std::nullopt,
              std::shared_ptr<const registries> declared = nullptr, const plan_name_check& also = {})
      -> braid::checked<reload_report>;

  /// Binds the text of an artifact as the plan with this name, as a reload would now: with the registries, the budgets
  /// and the experiments of the last one. The result is not kept and has no number. If it names a substitute, that is
  /// the plan that serves. Blocks: on the disk, and for a reload. Errors: all that is wrong with it.
  auto try_artifact(std::string text, const std::string& name) -> braid::checked<bound_plan>;

  /// Returns the version of a plan that serves. Errors: unknown_plan.
  [[nodiscard]] auto find(std::string_view name) const -> braid::checked<plan_handle>;

  /// Returns a version that is kept, whether it serves or not. Errors: unknown_plan, unknown_version.
  [[nodiscard]] auto find(std::string_view name, std::uint64_t number) const -> braid::checked<plan_handle>;

  /// All versions that serve.
  [[nodiscard]] auto current() const -> std::shared_ptr<const plan_set>;

  /// Serves one version, whatever is loaded later, until it is unpinned or another one is pinned. Plans that name this
  /// plan as their substitute get a new version with it, as they do by `unpin` and `roll_back`. Blocks: for a reload.
  /// Errors: unknown_plan, unknown_version.
  auto pin(std::string_view name, std::uint64_t number) -> braid::checked<plan_version_info>;

  /// Serves the newest version again; a plan that was no longer in the folder is gone. Errors: unknown_plan.
  auto unpin(std::string_view name) -> braid::checked<void>;

  /// Pins the version before the one that serves. Errors: unknown_plan, no_earlier_version.
  auto roll_back(std::string_view name) -> braid::checked<plan_version_info>;

  /// All versions that are kept, by name, the oldest first.
  [[nodiscard]] auto versions() const -> std::vector<plan_version_info>;

  /// Returns the number of versions in memory: those that are kept, and those that are still in use.
  [[nodiscard]] auto versions_in_memory() const noexcept -> std::size_t;

 private:
  using version_ptr = std::shared_ptr<const plan_version>;

  /// The kept versions of one plan.
  struct version_history {
    std::vector<version_ptr> kept;  // ascending by number; the last one is the newest
    std::optional<std::uint64_t> pinned;
    bool in_folder = true;  // at the last reload

    [[nodiscard]] auto find(std::uint64_t number) const -> version_ptr;
    [[nodiscard]] auto serving() const -> version_ptr { return pinned ? find(*pinned) : kept.back(); }
  };
  using version_histories = std::map<std::string, version_history, std::less<>>;

  /// The inputs for binding the plans of one reload.
  struct bind_rules {
    const plan_budgets& budgets;
    const experiment_set& experiments;
    model_folder& models;
    vector_folder& vectors;
    const std::shared_ptr<const registries>& declared;
    std::chrono::sys_seconds now;
  };
  /// The result of binding a folder, by name.
  struct bound_folder {
    std::vector<version_ptr> found;
    std::vector<left_out_plan> left_out;
    std::vector<std::string> names;
    braid::diagnostics problems;
  };

  /// A plan of the folder, before its substitute is known.
  struct bound_image {
    version_ptr same;                 // the newest version, if it has the same bytes and rules
    std::optional<bound_plan> bound;  // otherwise

    [[nodiscard]] auto plan() const -> const bound_plan& { return bound ? *bound : same->plan; }
  };
  using bound_images = std::map<std::string_view, bound_image>;

  auto bind_all(const std::vector<artifact_image>& image, const bind_rules& rules) -> bound_folder;
  auto bind(const artifact_image& image, const bind_rules& rules) -> braid::checked<bound_image>;
  auto add_substitute_to(bound_image of, plan_handle found, const artifact_image& image) -> braid::checked<version_ptr>;
  auto substitute_for(const bound_plan& plan, const bound_images& images, const bound_folder& found) const
      -> plan_handle;
  auto made_version(bound_plan plan) -> version_ptr;
  void add_pinned_to(std::vector<std::string>& names) const;
  auto find_newest(std::string_view name, std::string_view artifact_digest) const -> version_ptr;
  auto install(const std::vector<version_ptr>& found, std::vector<left_out_plan> left_out) -> reload_report;
  void add_versions(const std::vector<version_ptr>& found, version_histories& into, reload_report& report) const;
  auto would_serve(const std::vector<left_out_plan>& left_out) const -> bool;
  void keep(version_history& here, version_ptr version) const;
  void renew_fallbacks(version_histories& in);
  void publish(version_histories next, std::vector<left_out_plan> left_out);
  void replace_current(std::shared_ptr<const plan_set> next);
  [[nodiscard]] auto info_of(const version_history& of, const version_ptr& version) const -> plan_version_info;
  [[nodiscard]] auto standing_in(const version_ptr& version) const -> std::ptrdiff_t;
  auto pin_kept(std::string_view name, std::uint64_t number) -> plan_version_info;

  std::shared_ptr<const registries> declared_;  // changes under reloads_
  plan_library_options options_;                // its budgets and experiments change under reloads_
  std::shared_ptr<const int> tally_ = std::make_shared<const int>(0);  // each version holds one reference

  std::mutex reloads_;  // held by one reload from its first read to its end
  // by plan, including plans that are gone; under reloads_
  std::map<std::string, std::uint64_t, std::less<>> last_numbers_;
  mutable std::mutex changes_;               // held while histories are changed or read; locked after reloads_
  version_histories histories_;              // under changes_
  std::vector<left_out_plan> left_out_;      // by the last reload; under changes_
  mutable std::mutex current_lock_;          // held to copy or exchange one pointer; locked last
  std::shared_ptr<const plan_set> current_;  // under current_lock_
};

}  // namespace rankd
