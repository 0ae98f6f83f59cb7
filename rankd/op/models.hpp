// rankd/op/models.hpp: the models that plans call. They are files of one folder, each read and checked once.
#pragma once

#include <rankd/plan/folder_image.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// A checked model, which computes scores for rows. Immutable, and shared by all requests. Its functions are in
/// op/detail/scoring.hpp.
class model;

/// The digest of the model file that a plan was bound to.
struct model_digest {
  std::string name;
  std::string sha256;

  auto operator==(const model_digest&) const -> bool = default;
};

/// The models in a folder. The file of a model is called NAME.json, NAME.onnx, NAME.txt or NAME.ubj. A file is read
/// when its model is first requested, and never again by the same object. So all plans that are bound with one object
/// see the same bytes. Threads: one at a time. Lifetime: `declared` must outlive the object; the models may outlive it.
class model_folder {
 public:
  /// Creates the object without reading a file. If `folder` is empty, the project has no models. If `read` is empty,
  /// `read_model_file` is used.
  model_folder(std::filesystem::path folder, const registries& declared, file_reader read = {});

  /// Returns the SHA-256 of a model's bytes. Requires a name of letters, digits and `_`.
  /// Blocks: on the disk. Errors: no_models, unknown_model, two_models, those of `read_model_file`.
  auto digest(std::string_view name) -> braid::checked<std::string>;

  /// Returns the model.
  /// Blocks: on the disk. Errors: every diagnostic about the file, with the file as its source: those of `digest`, of
  /// `parse_foreign_json` and of `object_reader`; unsupported_schema, unknown_key, blocked_key, unreadable_key,
  /// wrong_key_type, duplicate_value, too_few_items, too_many_items, wrong_length, cycle, shared_node, unreached_node,
  /// tree_too_deep. Additional errors for a file that a trainer wrote: truncated, missing_field, out_of_range,
  /// wrong_type, bad_value, unknown_objective, unsupported_booster, linear_leaves, vector_leaves, recoded_categories,
  /// unnamed_features, unknown_operator, unknown_value, external_data, number_out_of_range.
  auto find(std::string_view name) -> braid::checked<std::shared_ptr<const model>>;

  /// Returns warnings about contents of a model's file that are most likely mistakes: untracked_nulls. The source of
  /// each warning is the file. Returns nothing for a model that cannot be read. Blocks: on the disk, unless the model
  /// was read before.
  auto warnings(std::string_view name) -> braid::diagnostics;

  /// Returns whether all files that this object has read still have the same bytes. Blocks: on the disk.
  [[nodiscard]] auto stands_still() const -> bool;

 private:
  struct entry {
    std::filesystem::path file;  // empty if there is no file
    braid::checked<std::string> text;
    std::string sha256;
    std::shared_ptr<const model> made;
    braid::diagnostics problems;  // set once the model was read, if there are any
  };

  auto find_entry(std::string_view name) -> entry&;
  [[nodiscard]] auto find_file(std::string_view name) const -> braid::checked<std::filesystem::path>;

  std::filesystem::path folder_;
  const registries* declared_;
  file_reader read_;
  std::map<std::string, entry, std::less<>> entries_;
};

/// Returns the bytes of a model's file. The file may be larger than other documents, because other limits apply to a
/// model: its number of nodes and its memory.
/// Blocks: on the disk. Errors: those of `read_text_file`.
auto read_model_file(const std::filesystem::path& file) -> braid::checked<std::string>;

/// Returns the files in a folder whose names are those of model files, in ascending order. Blocks: on the disk.
auto model_files(const std::filesystem::path& folder) -> std::vector<std::filesystem::path>;

/// Returns the names of the models that a plan calls, in ascending order and without duplicates.
auto list_models(const plan& loaded) -> std::vector<std::string>;

}  // namespace rankd
