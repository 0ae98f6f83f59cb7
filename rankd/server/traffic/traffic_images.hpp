// rankd/server/traffic/traffic_images.hpp: images (copies of the files) of a project and its plans for recorded
// traffic, and the project that is restored from them.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/op/vectors.hpp>
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

/// Returns an image of a project: the files of its registries for its environment. The image does not include cursor
/// keys, tokens and stores. Blocks: on the disk. Errors: those of `read_text_file`.
auto make_image(const project& project, const registries& declared, std::string version)
    -> braid::checked<recorded_project>;

/// Returns an image of a plan that was loaded from a project. Reads the files of the plan again. The numbers in the
/// image are not set.
/// Blocks: on the disk.
/// Errors: those of `read_text_file` and `model_folder::digest`; plan_changed if the files have changed since the plan
/// was made.
auto make_image(const bound_plan& plan, const project& project, const registries& declared)
    -> braid::checked<recorded_plan>;

/// The project and the plans of recorded traffic, ready to run. Their files are in a temporary folder, which is removed
/// together with the object.
class recorded_world {
 public:
  /// Restores the project. `vectors` is the root folder of a project that has the files of vectors, or empty.
  /// Blocks: on the disk.
  /// Errors: no_folder; registry_changed if this version of rankd reads the registries differently; those of
  /// `registries::load`.
  static auto make(const recorded_project& image, const std::filesystem::path& vectors = {})
      -> braid::checked<std::unique_ptr<recorded_world>>;
  ~recorded_world();
  recorded_world(const recorded_world&) = delete;
  auto operator=(const recorded_world&) -> recorded_world& = delete;

  /// Restores a plan without its time limits. The fallback plan of a plan must be added before the plan.
  /// Blocks: on the disk.
  /// Errors: plan_changed if this version of rankd binds the plan differently, or if the fallback plan is missing;
  /// vectors_changed if the plan searches a file of vectors that differs from the recorded file; those
  /// of `load_plan`, `bind_plan`, `add_substitute` and `add_experiments`.
  auto add(const recorded_plan& image) -> braid::checked<void>;

  /// Replaces the recorded plans that have the same name as the plan in `file`. The name of the file does not matter.
  /// The replacement uses the recorded models, budget, experiments and fallback plan. Must be called before the
  /// recorded plans are added.
  /// Blocks: on the disk. Errors: those of `read_text_file`; json_syntax, missing_field if the file contains no plan
  /// name.
  auto replace_by(const std::filesystem::path& file) -> braid::checked<void>;

  [[nodiscard]] auto declared() const noexcept -> const registries& { return *declared_; }
  /// Returns the names of replacement plans that replace no recorded plan.
  [[nodiscard]] auto unused() const -> std::vector<std::string>;
  /// Returns the plan with this number, or null if there is no such plan.
  [[nodiscard]] auto find(std::uint32_t number) const -> std::shared_ptr<const bound_plan>;
  /// Returns whether requests to this plan run with a replacement.
  [[nodiscard]] auto is_replaced(std::string_view name) const -> bool { return replacements_.contains(name); }

 private:
  explicit recorded_world(std::filesystem::path folder) : folder_(std::move(folder)) {}
  auto bind(const recorded_plan& image, const artifact_image& artifact) -> braid::checked<bound_plan>;

  std::filesystem::path folder_;
  std::optional<registries> declared_;
  std::optional<vector_folder> vectors_;
  std::map<std::uint32_t, std::shared_ptr<const bound_plan>> plans_;
  std::map<std::string, artifact_image, std::less<>> replacements_;  // by the names of plans
  std::set<std::string, std::less<>> used_;                          // the replacements that were used, by name
};

}  // namespace rankd
