// braid/sync/detail/user_code.hpp: which threads may be in code of the program, and waiting until they have left it.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// A number by which a thread shows whether it may be in code of the program, and each time that it has left all of it.
/// Odd: it may be. Even: it is not. docs/design/quiesce.md has the protocol.
/// Threads: `look` and `has_left` from any, the rest from the thread that the marker describes.
class code_marker {
 public:
  /// Called before the thread runs code of the program, and only if no such code is on its stack.
  // edge user_code.left: publish, a reader of a later number sees what the thread did before it left
  void enter() noexcept { number_.store((number_.load(relaxed) + 1) | 1U, release); }

  /// Called when no code of the program is on the stack of the thread, before it may begin more.
  // edge user_code.left: publish, what the thread did so far is seen by those that wait for it to leave
  void pass() noexcept { number_.store(number_.load(relaxed) + 2, release); }

  /// Called when no code of the program is on the stack of the thread. No code of the program will run on it until
  /// `enter`.
  // edge user_code.left: publish, what the thread did so far is seen by those that wait for it to leave
  void leave() noexcept { number_.store((number_.load(relaxed) | 1U) + 1, release); }

  /// Returns the number, for `has_left`.
  // edge user_code.left: observe, an even number says that what the thread did has been done
  [[nodiscard]] auto look() const noexcept -> std::uint64_t { return number_.load(acquire); }

  /// Returns whether a thread whose number was `seen` has left the code that it was in then.
  [[nodiscard]] auto has_left(std::uint64_t seen) const noexcept -> bool { return seen % 2 == 0 || look() != seen; }

 private:
  atomic<std::uint64_t> number_{0};
};

/// A section of the calling thread that runs code of the program on behalf of the library, such as the whole of a
/// worker's thread or one job of a blocking pool. A section within another one changes nothing.
/// Cost: a few instructions; once in each thread, a lock.
class BRAID_API user_code_section {
 public:
  user_code_section() noexcept;
  user_code_section(const user_code_section&) = delete;
  auto operator=(const user_code_section&) -> user_code_section& = delete;
  ~user_code_section();

  /// Returns the marker of the thread if this is its outermost section, and null otherwise.
  [[nodiscard]] auto marker() const noexcept -> code_marker* { return marker_; }

  /// Says that no code of the program is on the stack.
  void pass() const noexcept {
    if (marker_ != nullptr) marker_->pass();
  }

 private:
  code_marker* marker_;
};

/// A part of a section in which the thread runs no code of the program, because it waits for work.
class user_code_pause {
 public:
  /// Null: changes nothing.
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

/// Returns the marker of the calling thread if it is in exactly one section, and null otherwise.
[[nodiscard]] BRAID_API auto outermost_code_marker() noexcept -> code_marker*;

/// Returns whether the calling thread is in a section.
[[nodiscard]] BRAID_API auto is_in_user_code() noexcept -> bool;

/// Blocks until each other thread has left the code of the program that it was in when this was called, or until
/// `deadline`. Returns whether all have left. Requires that the calling thread is in no section.
[[nodiscard]] BRAID_API auto await_user_code(time_point deadline) -> bool;

}  // namespace braid::detail
