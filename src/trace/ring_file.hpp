// src/trace/ring_file.hpp: declares the ring file, which is next to the trace file and contains the rings of threads.
// If the process is killed, the ring file remains.
#pragma once

#include "session.hpp"

#include <braid/base/detail/symbols.hpp>
#include <braid/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::detail {

/// A name with its key: the number of a task, or the address of the name in the process.
template <std::size_t Size>
struct kept_name {
  atomic<std::uint64_t> key;  // 0 if unused; written last, by one thread at a time
  std::array<char, Size> text;
};

/// A loaded program or library, with the address range of its code and literals.
struct kept_object {
  atomic<std::uint64_t> end;  // 0 if unused; written last
  std::uint64_t begin;
  std::uint64_t base;
  std::array<char, 488> path;
};

/// The header of the file. The rings follow, each in an area of whole pages.
struct ring_file_head {
  static constexpr std::array<char, 8> its_magic{'b', 'r', 'a', 'i', 'd', 'r', 'n', 'g'};
  static constexpr std::uint32_t its_version = 2;

  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t ring_bytes;
  std::uint64_t process;
  std::array<char, 16> process_name;
  std::uint64_t first_ticks;  // the conversion from ticks to nanoseconds
  std::uint64_t first_ns;
  double ns_per_tick;                       // 0: not measured yet
  atomic<std::uint32_t> commit;             // the index of the valid one of two states, here and in each ring
  std::array<std::uint64_t, 2> file_bytes;  // the size of the trace in each state
  std::array<kept_object, 128> objects;
  std::array<kept_name<120>, 4096> names;   // names of slices that were created at run time
  std::array<kept_name<120>, 16384> tasks;  // the newest names; older ones are in the trace
};

/// The largest page size of any kernel, which some kernels for arm64 have. A mapping must begin at a multiple of the
/// running kernel's page size.
inline constexpr std::size_t largest_page = std::size_t{64} * 1024;

/// Rounds a number of bytes up to whole pages.
[[nodiscard]] constexpr auto whole_pages(std::size_t bytes) noexcept -> std::size_t {
  constexpr std::size_t page = largest_page;
  return (bytes + page - 1) / page * page;
}

/// The sizes of the parts of a ring file.
struct ring_file_layout {
  static constexpr std::size_t head = whole_pages(sizeof(ring_file_head));
  static constexpr std::size_t ring = whole_pages(sizeof(thread_ring));
};

/// The ring file in the traced process, which writes it. Threads: one at a time; only the writer thread calls `commit`
/// and `note_objects`.
class ring_file {
 public:
  /// Creates the file, or empties an existing one.
  /// Errors: std::system_error.
  explicit ring_file(std::string path);
  ring_file(const ring_file&) = delete;
  auto operator=(const ring_file&) -> ring_file& = delete;

  /// Returns memory for a ring, or null if the disk or the memory is full.
  [[nodiscard]] auto open_ring() noexcept -> thread_ring*;
  /// Frees the memory of a ring. Called when all of its records are in the trace.
  void close_ring(thread_ring& ring) noexcept;

  void add_task(std::uint64_t number, std::string_view name) noexcept;
  void add_name(std::uint64_t address, std::string_view text) noexcept;

  [[nodiscard]] auto process_name() const -> std::string { return head_->process_name.data(); }
  void set_line(std::uint64_t first_ticks, std::uint64_t first_ns, double ns_per_tick) noexcept;
  /// Records the programs and libraries that were loaded since the last call. Errors: std::bad_alloc.
  void note_objects();
  /// Returns the index (0 or 1) of the state that must be written next. Each ring has two states in the file, and the
  /// header says which of the two is valid.
  [[nodiscard]] auto next_state() const noexcept -> std::size_t;
  /// Makes the newly written ring states valid. `file_bytes` is the size of the part of the trace file that contains
  /// all records that these states count as read.
  void commit(std::uint64_t file_bytes) noexcept;

  /// Deletes the file. Called when the trace is complete.
  void remove() noexcept;

 private:
  std::string path_;
  int file_;
  ring_file_head* head_;
  std::uint64_t places_ = 0;         // the number of rings for which the file has room
  std::vector<std::uint64_t> free_;  // indexes of free places
  std::uint64_t loads_ = 0;          // the number of objects loaded so far, when `note_objects` was last called
  std::size_t tasks_ = 0;
  std::size_t names_ = 0;
};

}  // namespace braid::detail
