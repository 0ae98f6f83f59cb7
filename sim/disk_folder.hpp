// sim/disk_folder.hpp: the folder that contains the disks of the machines of one world.
#pragma once

#include <string>

namespace sim {

/// A folder for the disks of one world, which is deleted with this object. A program may behave
/// differently in another folder, so all runs use the same path unless another world with disks is running. A lock
/// marks the folders in use. A folder without a lock was left by a simulation that was killed, so it is emptied and
/// used. Errors: std::system_error, or std::runtime_error if too many folders are in use.
class disk_folder {
 public:
  disk_folder();
  disk_folder(const disk_folder&) = delete;
  auto operator=(const disk_folder&) -> disk_folder& = delete;
  ~disk_folder();

  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // the descriptor that holds the lock
};

}  // namespace sim
