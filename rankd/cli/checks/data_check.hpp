// rankd/cli/checks/data_check.hpp: compares data with the columns that the plans of a project read.
#pragma once

#include <rankd/embed/workspace.hpp>
#include <rankd/op/column_check.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rankd {

struct data_check_options {
  /// The files from which records are loaded. If the list is empty, the records are already in a store.
  std::span<const std::filesystem::path> files = {};
  std::span<const std::string> endpoints = {};  ///< only nodes that read these endpoints count; empty: all endpoints
};

/// The columns that the plans of a project read from its data. Columns that the server itself fills according to
/// events.toml are left out. Invalid plans are ignored.
/// Threads: a single thread. Lifetime: the workspace, and everything that the options name, outlive it.
class data_check {
 public:
  /// Reads the artifacts of the project, but no models. Blocks: on the disk.
  data_check(const workspace& workspace, data_check_options options);
  data_check(data_check&&) = delete;
  auto operator=(data_check&&) -> data_check& = delete;
  ~data_check() = default;

  auto columns() noexcept -> column_check& { return columns_; }

 private:
  std::vector<std::string> written_;
  column_check columns_;  ///< refers to `written_`
};

}  // namespace rankd
