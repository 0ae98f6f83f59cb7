// braid/thread/thread_entry.hpp: what a registry knows of a thread, as a copy of that moment.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/thread_info.hpp>

#include <chrono>
#include <cstdint>
#include <string>

#include <sys/types.h>

namespace braid {

/// How a thread is found in a registry. Of any length; the system's name of the thread is another one.
struct thread_label {
  std::string tag;        ///< what kind it is: "io"
  std::string name = {};  ///< which one of them; empty: the name that the system has for the thread
};

/// A registered thread. A copy, which stays as it was when the thread has ended. Threads: as any value.
struct BRAID_API thread_entry {
  std::string tag;
  std::string name;
  ::pid_t tid = 0;
  /// The number of this registration among all of the process, whatever the registry: no other ever has it.
  std::uint64_t generation = 0;
  std::chrono::nanoseconds registered_at{};  ///< since the machine was booted, the time that it slept included

  /// The thread, to read its state and to change it. Blocks: while it reads a file of /proc.
  /// Errors: no_such_process when it has ended, also when another thread has its id; the system's own codes.
  [[nodiscard]] auto control() const -> result<thread_info>;

  auto operator==(const thread_entry&) const -> bool = default;
};

}  // namespace braid
