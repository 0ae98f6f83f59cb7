// rankd/server/traffic/traffic_images.hpp: writes a project and its plans into recorded traffic, and restores them.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/plan/folder_image.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/server/traffic/traffic_file.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// Returns what the plans of a project are bound to: the files of its registries for its environment. No keys of
/// cursors, no tokens, no stores. Blocks: on the disk. Errors: those of `read_text_file`.
auto make_image(const project& project, const registries& declared, std::string version)
    -> braid::checked<recorded_project>;

/// Returns a plan that was loaded from a project, without the numbers. Reads its files again.
/// Blocks: on the disk.
/// Errors: those of `read_text_file` and `model_folder::digest`; plan_changed if they are not what the plan was made
/// from.
auto make_image(const bound_plan& plan, const project& project, const registries& declared)
    -> braid::checked<recorded_plan>;

/// The project and the plans of recorded traffic, ready to run. Their files are in their own folder, which is removed
/// with the object.
class recorded_world {
 public:
  /// Blocks: on the disk.
  /// Errors: no_folder; registry_changed if this rankd reads the registries differently; those of `registries::load`.
  static auto make(const recorded_project& image) -> braid::checked<std::unique_ptr<recorded_world>>;
  ~recorded_world();
  recorded_world(const recorded_world&) = delete;
  auto operator=(const recorded_world&) -> recorded_world& = delete;

  /// Restores a plan, without its limits of time; a plan with a substitute comes after that.
  /// Blocks: on the disk.
  /// Errors: plan_changed if this rankd binds the plan differently, or there is no such substitute; those of
  /// `load_plan`, `bind_plan`, `add_substitute` and `add_experiments`.
  auto add(const recorded_plan& image) -> braid::checked<void>;

  /// Runs the plan of that file, whatever the file's name, for requests to recorded plans with the name inside it: with
  /// the models, the budget, the experiments and the substitute of each. Call it before these are added.
  /// Blocks: on the disk. Errors: those of `read_text_file`, and json_syntax, missing_field if it contains no name.
  auto replace_by(const std::filesystem::path& file) -> braid::checked<void>;

  [[nodiscard]] auto declared() const noexcept -> const registries& { return *declared_; }
  /// Returns the names of plans that replace no recorded plan.
  [[nodiscard]] auto unused() const -> std::vector<std::string>;
  /// Returns the plan with that number; null if there is no such plan.
  [[nodiscard]] auto find(std::uint32_t number) const -> std::shared_ptr<const bound_plan>;
  /// Returns whether another plan than the recorded one runs requests to that plan.
  [[nodiscard]] auto is_replaced(std::string_view name) const -> bool { return replacements_.contains(name); }

 private:
  explicit recorded_world(std::filesystem::path folder) : folder_(std::move(folder)) {}
  auto bind(const recorded_plan& image, const artifact_image& artifact) -> braid::checked<bound_plan>;

  std::filesystem::path folder_;
  std::optional<registries> declared_;
  std::map<std::uint32_t, std::shared_ptr<const bound_plan>> plans_;
  std::map<std::string, artifact_image, std::less<>> replacements_;  // by the names of plans
  std::set<std::string, std::less<>> used_;                          // the replacements that were used, by name
};

}  // namespace rankd
