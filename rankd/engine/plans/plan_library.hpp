// rankd/engine/plans/plan_library.hpp: the plans of a running process. A process can reload plans, pin them and roll
// them back.
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

/// States what a load does if a plan has errors.
enum class bad_plans : std::uint8_t {
  refuse_all,  ///< nothing changes
  leave_out,   ///< the other plans change, and the previous version of the plan continues to serve
};

struct plan_library_options {
  /// The maximum number of stored versions of each plan, not counting pinned versions. 0 has the same effect as 1.
  std::size_t max_kept = 4;
  file_reader read = {};      ///< for artifacts and their index; empty: from the disk
  plan_budgets budgets = {};  ///< the budgets of the plans, by plan name, until a reload changes them
  /// The experiments that are used until a reload changes them. A load uses only the experiments that run at that time.
  experiment_set experiments = {};
  std::filesystem::path models = {};  ///< the folder of the models that plans call, if there is one
  bad_plans on_bad_plan = bad_plans::refuse_all;
  /// The root folder of the project, to which the paths of files of vectors are relative.
  std::filesystem::path root = {};
};

/// The changes made by a reload, as lists of plan names.
struct reload_report {
  std::vector<std::string> added;
  std::vector<std::string> changed;  ///< plans with a new version; a pinned version continues to serve
  std::vector<std::string> unchanged;
  std::vector<std::string> removed;
  std::vector<std::string> pinned_only;  ///< plans that are no longer in the folder; they serve until they are unpinned
  std::vector<left_out_plan> left_out;   ///< only with `bad_plans::leave_out`
  braid::diagnostics warnings;           ///< about plans that were added or changed
  bool registries_changed = false;       ///< whether all plans were bound again because the registries have changed
  bool shadows_changed = false;          ///< whether other plans run as shadows, or whether they run for other requests
  std::vector<std::string> until_restart = {};  ///< sentences about changes of the registries that were not applied
};

/// A check of other settings that refer to plans by name. The function receives the names of all plans.
using plan_name_check = std::function<braid::diagnostics(const std::vector<std::string>& plans)>;

/// The state of one version of a plan at one moment.
struct plan_version_info {
  std::string name;
  std::uint64_t number = 0;
  std::string digest;  ///< as bound_plan::digest
  std::chrono::system_clock::time_point loaded_at;
  bool serves = false;
  bool pinned = false;
  std::size_t users = 0;  ///< the number of handles and sets that are held outside of the library
};

/// Stores bound plans by name, and replaces them while requests run. A request holds a handle to a plan version, so it
/// uses the same version from start to end. docs/design/plan_library.md describes the protocol.
/// Threads: any. Lifetime: the initial registries must outlive the library and all handles. Registries from reloads
/// live as long as a plan that is bound to them.
class plan_library {
 public:
  explicit plan_library(const registries& declared, plan_library_options options = {});
  plan_library(const plan_library&) = delete;
  auto operator=(const plan_library&) -> plan_library& = delete;

  /// Reads and binds all artifacts of a folder in the background, and then publishes all of them at once. A plan gets a
  /// new version if the bytes of its artifact or of its models have changed, or if its budget or running experiments
  /// have changed. Plans that are no longer in the folder are removed, unless they are pinned. If anything has errors,
  /// nothing changes. With `bad_plans::leave_out`, only the plans with errors are left out, and their last valid
  /// version, if any, continues to serve. Reloads wait for each other, but readers never wait for a reload. `budgets`
  /// and `experiments`, if given, replace the previous ones. If `declared` is given, all plans are bound to these
  /// registries as new versions. `declared` must have the same endpoints. Versions in use and pinned versions keep
  /// their registries. The reload also fails if `also` reports a problem. Blocks: on the disk. Errors: all diagnostics
  /// at once: those of `read_folder_image`, `load_plan`, `bind_plan`, `add_experiments`, of plan_budgets::strangers and
  /// of experiment_set::strangers; no_artifacts if the folder has no artifact.
  auto reload(const std::filesystem::path& folder, std::optional<plan_budgets> budgets = std::nullopt,
              std::optional<experiment_set> experiments = std::nullopt,
              std::shared_ptr<const registries> declared = nullptr, const plan_name_check& also = {})
      -> braid::checked<reload_report>;

  /// Finds the plans whose files of vectors have changed. Binds the newest version of each such plan again, and
  /// publishes all new versions at once. Nothing else of the project is read again. If anything has errors, nothing
  /// changes. If the models of a plan have changed, too, the plan is not bound again before the next `reload`, because
  /// new models take effect only then. Blocks: on the disk, and for a running reload. Errors: those of the files of
  /// vectors; needs_reload.
  auto reload_vectors() -> braid::checked<reload_report>;

  /// Returns the digests of the files of an endpoint that requests may still use. These are the files of serving
  /// versions, and of versions that running requests use. Contains an empty text if requests still use a version that
  /// the library no longer stores.
  [[nodiscard]] auto vectors_in_use(std::string_view endpoint_id) const -> std::vector<std::string>;

  /// Binds the text of an artifact in the same way as a reload, with the registries, budgets and experiments of the
  /// last reload. The result is not stored and has no version number. If the plan has a fallback plan, the serving
  /// version of that plan is used.
  /// Blocks: on the disk, and for a running reload. Errors: everything that is wrong with the artifact.
  auto try_artifact(std::string text, const std::string& name) -> braid::checked<bound_plan>;

  /// Returns the serving version of a plan. Errors: unknown_plan.
  [[nodiscard]] auto find(std::string_view name) const -> braid::checked<plan_handle>;

  /// Returns a stored version, even if another version serves. Errors: unknown_plan, unknown_version.
  [[nodiscard]] auto find(std::string_view name, std::uint64_t number) const -> braid::checked<plan_handle>;

  /// Returns all serving versions.
  [[nodiscard]] auto current() const -> std::shared_ptr<const plan_set>;

  /// Pins a version: the version serves, even after reloads, until it is unpinned or another version is pinned. Plans
  /// that use this plan as their fallback plan get a new version, as with `unpin` and `roll_back`. Blocks: for a
  /// running reload.
  /// Errors: unknown_plan, unknown_version.
  auto pin(std::string_view name, std::uint64_t number) -> braid::checked<plan_version_info>;

  /// Unpins a plan, so that its newest version serves again. A plan that is no longer in the folder is removed. Errors:
  /// unknown_plan.
  auto unpin(std::string_view name) -> braid::checked<void>;

  /// Pins the version before the serving version. Errors: unknown_plan, no_earlier_version.
  auto roll_back(std::string_view name) -> braid::checked<plan_version_info>;

  /// Returns all stored versions, ordered by plan name and then by number.
  [[nodiscard]] auto versions() const -> std::vector<plan_version_info>;

  /// Returns the number of versions in memory: those that are stored, and those that are still in use.
  [[nodiscard]] auto versions_in_memory() const noexcept -> std::size_t;

 private:
  using version_ptr = std::shared_ptr<const plan_version>;

  /// The stored versions of one plan.
  struct version_history {
    std::vector<version_ptr> kept;  // ascending by number; the last one is the newest
    std::optional<std::uint64_t> pinned;
    bool in_folder = true;  // whether the plan was in the folder at the last reload

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
  /// The result of binding the plans of a folder, by plan name.
  struct bound_folder {
    std::vector<version_ptr> found;
    std::vector<left_out_plan> left_out;
    std::vector<std::string> names;
    braid::diagnostics problems;
  };

  /// A plan of the folder, before its fallback plan was added.
  struct bound_image {
    version_ptr same;                 // the newest version, if it has the same bytes and rules
    std::optional<bound_plan> bound;  // set if `same` is not

    [[nodiscard]] auto plan() const -> const bound_plan& { return bound ? *bound : same->plan; }
  };
  using bound_images = std::map<std::string_view, bound_image>;

  auto bind_all(const std::vector<artifact_image>& image, const bind_rules& rules) -> bound_folder;
  auto bind_vectors(const version_ptr& old, vector_folder& vectors) -> braid::checked<bound_plan>;
  auto bind(const artifact_image& image, const bind_rules& rules) -> braid::checked<bound_image>;
  auto add_substitute_to(bound_image bound, plan_handle found, const artifact_image& image)
      -> braid::checked<version_ptr>;
  auto substitute_for(const bound_plan& plan, const bound_images& images, const bound_folder& found) const
      -> plan_handle;
  auto made_version(bound_plan plan) -> version_ptr;
  void add_pinned_to(std::vector<std::string>& names) const;
  auto find_newest(std::string_view name, std::string_view artifact_digest) const -> version_ptr;
  auto install(const std::vector<version_ptr>& found, std::vector<left_out_plan> left_out) -> reload_report;
  void add_versions(const std::vector<version_ptr>& found, version_histories& into, reload_report& report) const;
  auto would_serve(const std::vector<left_out_plan>& left_out) const -> bool;
  void keep(version_history& here, version_ptr version) const;
  void renew_fallbacks(version_histories& histories);
  void publish(version_histories next, std::vector<left_out_plan> left_out);
  void replace_current(std::shared_ptr<const plan_set> next);
  [[nodiscard]] auto info_of(const version_history& history, const version_ptr& version) const -> plan_version_info;
  [[nodiscard]] auto standing_in(const version_ptr& version) const -> std::ptrdiff_t;
  auto pin_kept(std::string_view name, std::uint64_t number) -> plan_version_info;

  std::shared_ptr<const registries> declared_;  // changes only under reloads_
  plan_library_options options_;                // its budgets and experiments change only under reloads_
  std::shared_ptr<const int> tally_ = std::make_shared<const int>(0);  // each version holds one reference

  std::mutex reloads_;  // held by one reload from its first read to its end
  // The last version number of each plan, including removed plans. Guarded by reloads_.
  std::map<std::string, std::uint64_t, std::less<>> last_numbers_;
  mutable std::mutex changes_;               // held while histories are changed or read; locked after reloads_
  version_histories histories_;              // guarded by changes_
  std::vector<left_out_plan> left_out_;      // set by the last reload; guarded by changes_
  mutable std::mutex current_lock_;          // held to copy or exchange one pointer; locked last
  std::shared_ptr<const plan_set> current_;  // under current_lock_
};

}  // namespace rankd
