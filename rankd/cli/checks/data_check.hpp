// rankd/cli/checks/data_check.hpp: data held against what the plans of a project read.
#pragma once

#include <rankd/cli/workspace.hpp>
#include <rankd/op/column_check.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rankd {

struct data_check_options {
  std::span<const std::filesystem::path> files = {};  ///< that records are loaded from; empty: they lie in a store
  std::span<const std::string> endpoints = {};        ///< whose nodes count; empty: all endpoints
};

/// The columns that the plans of a project read, but for those that counters.toml has the server write. Plans that are
/// wrong are left out.
/// Threads: one. Lifetime: the workspace, and what the options name, outlive it.
class data_check {
 public:
  /// Blocks: on the disk. It reads artifacts, and no models.
  data_check(const workspace& in, data_check_options options);
  data_check(data_check&&) = delete;
  auto operator=(data_check&&) -> data_check& = delete;
  ~data_check() = default;

  auto columns() noexcept -> column_check& { return columns_; }

 private:
  std::vector<std::string> written_;
  column_check columns_;  ///< looks at `written_`
};

}  // namespace rankd
