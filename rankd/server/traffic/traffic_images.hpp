// rankd/server/traffic/traffic_images.hpp: a project and its plans as recorded traffic holds them, written and brought
// back.
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

/// What the plans of a project are bound to: the files of its registries for its environment. No keys of cursors, no
/// tokens, no stores. Blocks: on the disk. Errors: those of `read_text_file`.
auto image_of(const project& where, const registries& declared, std::string version)
    -> braid::checked<recorded_project>;

/// A plan that was loaded from a project, but for the numbers. Its files are read again.
/// Blocks: on the disk.
/// Errors: those of `read_text_file` and `model_folder::digest`; plan_changed where they are not what the plan was made
/// from.
auto image_of(const bound_plan& plan, const project& where, const registries& declared)
    -> braid::checked<recorded_plan>;

/// The project and the plans of recorded traffic, ready to run. Their files lie in a folder of their own, which goes
/// with the object.
class recorded_world {
 public:
  /// Blocks: on the disk.
  /// Errors: no_folder; registry_changed where this rankd reads the registries differently; those of
  /// `registries::load`.
  static auto make(const recorded_project& image) -> braid::checked<std::unique_ptr<recorded_world>>;
  ~recorded_world();
  recorded_world(const recorded_world&) = delete;
  auto operator=(const recorded_world&) -> recorded_world& = delete;

  /// Brings a plan back, without its limits of time; one with a substitute after that.
  /// Blocks: on the disk.
  /// Errors: plan_changed where this rankd binds the plan differently, or there is no such substitute; those of
  /// `load_plan`, `bind_plan`, `add_substitute` and `add_experiments`.
  auto add(const recorded_plan& image) -> braid::checked<void>;

  /// Runs the plan of that file, whatever its name, for requests to recorded plans of the name that it has in itself:
  /// with the models, the budget, the experiments and the substitute of each. To be called before these are added.
  /// Blocks: on the disk. Errors: those of `read_text_file`, and json_syntax, missing_field where it states no name.
  auto replace_by(const std::filesystem::path& file) -> braid::checked<void>;

  [[nodiscard]] auto declared() const noexcept -> const registries& { return *declared_; }
  /// The names of plans that replace none.
  [[nodiscard]] auto unused() const -> std::vector<std::string>;
  /// The plan of that number; null where there is none.
  [[nodiscard]] auto find(std::uint32_t number) const -> std::shared_ptr<const bound_plan>;
  /// Whether requests to that plan are run by another one than that which was recorded.
  [[nodiscard]] auto is_replaced(std::string_view name) const -> bool { return replacements_.contains(name); }

 private:
  explicit recorded_world(std::filesystem::path folder) : folder_(std::move(folder)) {}
  auto bind(const recorded_plan& image, const artifact_image& artifact) -> braid::checked<bound_plan>;

  std::filesystem::path folder_;
  std::optional<registries> declared_;
  std::map<std::uint32_t, std::shared_ptr<const bound_plan>> plans_;
  std::map<std::string, artifact_image, std::less<>> replacements_;  // by the names of plans
  std::set<std::string, std::less<>> used_;                          // of these
};

}  // namespace rankd
