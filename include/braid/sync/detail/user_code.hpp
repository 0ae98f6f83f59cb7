// braid/sync/detail/user_code.hpp: records which threads may be running code of the program (user code), and waits
// until they have left this code.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// A number by which a thread shows whether it may be running code of the program. The number is odd if the thread may
/// be running such code, and even otherwise. The number also changes each time that the thread has left all such code.
/// docs/design/quiesce.md describes the protocol. Threads: any thread may call `look` and `has_left`; only the thread
/// that the marker describes may call the other functions.
class code_marker {
 public:
  /// Marks that the thread may run code of the program. Called when no such code is on its stack.
  /// edge user_code.left: publish what the thread wrote before it left, so that a reader of a later number sees it
  void enter() noexcept { number_.store((number_.load(relaxed) + 1) | 1U, release); }

  /// Marks that the thread has left all code of the program and may run more of it. Called when no such code is on its
  /// stack.
  /// edge user_code.left: publish what the thread has written so far, so that threads that wait for it to leave see it
  void pass() noexcept { number_.store(number_.load(relaxed) + 2, release); }

  /// Marks that the thread runs no code of the program until `enter`. Called when no such code is on its stack.
  /// edge user_code.left: publish what the thread has written so far, so that threads that wait for it to leave see it
  void leave() noexcept { number_.store((number_.load(relaxed) | 1U) + 1, release); }

  /// Returns the current number, which you can pass to `has_left`. edge user_code.left: observe what the thread wrote
  /// before it left, if a later number is read
  [[nodiscard]] auto look() const noexcept -> std::uint64_t { return number_.load(acquire); }

  /// Returns whether the thread has left the code that it was running when its number was `seen`.
  [[nodiscard]] auto has_left(std::uint64_t seen) const noexcept -> bool { return seen % 2 == 0 || look() != seen; }

 private:
  atomic<std::uint64_t> number_{0};
};

/// A section in which the library runs code of the program on the calling thread. Examples are the whole thread of a
/// worker, or one job of a blocking pool. A section inside another section has no effect.
/// Cost: a few instructions; the first section of each thread also takes a lock.
class BRAID_API user_code_section {
 public:
  user_code_section() noexcept;
  user_code_section(const user_code_section&) = delete;
  auto operator=(const user_code_section&) -> user_code_section& = delete;
  ~user_code_section();

  /// Returns the marker of the thread if this section is the outermost section of the thread. Otherwise returns null.
  [[nodiscard]] auto marker() const noexcept -> code_marker* { return marker_; }

  /// Marks that no code of the program is on the stack.
  void pass() const noexcept {
    if (marker_ != nullptr) marker_->pass();
  }

 private:
  code_marker* marker_;
};

/// A part of a section in which the thread runs no code of the program, because it waits for work.
class user_code_pause {
 public:
  /// Begins the pause, or does nothing if the marker is null.
  explicit user_code_pause(code_marker* marker) noexcept : marker_(marker) {
    if (marker_ != nullptr) marker_->leave();
  }
  user_code_pause(const user_code_pause&) = delete;
  auto operator=(const user_code_pause&) -> user_code_pause& = delete;
  ~user_code_pause() {
    if (marker_ != nullptr) marker_->enter();
  }

 private:
  code_marker* marker_;
};

/// Returns the marker of the calling thread if it is in exactly one section, otherwise null.
[[nodiscard]] BRAID_API auto outermost_code_marker() noexcept -> code_marker*;

/// Returns whether the calling thread is in a `user_code_section`.
[[nodiscard]] BRAID_API auto is_in_user_code() noexcept -> bool;

/// Blocks until each other thread that now runs code of the program has left this code, or until `deadline`. Returns
/// whether all these threads have left it. Requires that the calling thread is in no section.
[[nodiscard]] BRAID_API auto await_user_code(time_point deadline) -> bool;

}  // namespace braid::detail
