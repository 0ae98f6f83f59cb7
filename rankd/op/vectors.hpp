// rankd/op/vectors.hpp: the files of vectors that plans search, each opened and checked once.
#pragma once

#include <rankd/op/models.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/store/vector_file.hpp>

#include <braid/base/error.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The files of a project's endpoints of kind vectors. All plans that are bound with the same object use the same
/// files.
/// Threads: one at a time. Lifetime: the files may outlive this object.
class vector_folder {
 public:
  /// Creates the object without opening a file. The paths of endpoints are relative to `root`.
  explicit vector_folder(std::filesystem::path root) : root_(std::move(root)) {}

  /// Returns a digest of a file. Different versions of the file have different digests. Reads only the beginning of the
  /// file, unless the file is open. Blocks: on the disk. Errors: those of vector_file::make_digest.
  auto digest(const endpoint_entry& endpoint) -> braid::checked<std::string>;

  /// Returns the file of an endpoint, and opens it at the first call. Blocks: on the disk. Errors: those of
  /// vector_file::open.
  auto find(const endpoint_entry& endpoint) -> braid::checked<std::shared_ptr<const vector_file>>;

 private:
  [[nodiscard]] auto find_path(const endpoint_entry& endpoint) const -> std::filesystem::path;

  std::filesystem::path root_;
  std::map<std::string, std::shared_ptr<const vector_file>, std::less<>> open_;  // by the id of the endpoint
};

/// Returns the ids of the endpoints of kind vectors that a plan names. Each id is returned once, in ascending order.
auto list_vectors(const plan& loaded) -> std::vector<std::string>;

}  // namespace rankd
