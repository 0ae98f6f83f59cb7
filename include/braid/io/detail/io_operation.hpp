// braid/io/detail/io_operation.hpp: an I/O operation of a coroutine. It is tried at once, and passed to the backend if
// it would block.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/detail/transfer.hpp>
#include <braid/io/loop.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <string>
#include <utility>

namespace braid::detail {

/// An open descriptor of a loop. The destructor removes it from the backend and closes it.
class BRAID_API open_descriptor {
 public:
  open_descriptor(loop& loop, descriptor owned, io_registration::kind kind) noexcept;
  open_descriptor(const open_descriptor&) = delete;
  auto operator=(const open_descriptor&) -> open_descriptor& = delete;
  /// Requires that no operation is pending, and that the loop still exists.
  ~open_descriptor();

  /// Moves the descriptor to another loop. Requires that no operation is pending. Once an operation has waited on the
  /// descriptor, only the thread of its loop may call this function.
  void move_to(loop& other) noexcept;

  [[nodiscard]] auto on() const noexcept -> loop& { return *loop_; }
  [[nodiscard]] auto registration() noexcept -> io_registration& { return registration_; }
  [[nodiscard]] auto number() const noexcept -> int { return owned_.number(); }

 private:
  loop* loop_;
  descriptor owned_;
  io_registration registration_;
};

/// An operation that is first tried on the loop's thread, and waits if it would block. A stop withdraws the operation.
/// An attempt either moves bytes and returns their number, or moves no bytes. So the number of moved bytes is always
/// known exactly.
/// Protocol: docs/design/sockets.md
class BRAID_API io_operation : public awaiter_base, protected io_transfer {
 public:
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }

  /// Ends the waiting read of the registration, and every later read that would wait. These reads return the bytes that
  /// have arrived, or -ECANCELED. Requires that only objects of this class wait on the registration.
  static void end_read_waits(open_descriptor& descriptor) noexcept;

 protected:
  /// Constructs an operation. Requires an open registration. When the operation is awaited, no other operation of the
  /// same side may be pending.
  io_operation(open_descriptor* descriptor, io_interest side, aim aim) noexcept;
  /// Constructs the same operation again. Requires that `other` was not awaited.
  io_operation(io_operation&& other) noexcept;
  ~io_operation() = default;

  /// Tries the operation. If the operation would block, records that in the registration, and returns false.
  [[nodiscard]] virtual auto attempt() noexcept -> bool = 0;
  /// Processes the result of the backend: `outcome` is the number of moved bytes, or a negative error number. Returns
  /// false if the operation must continue.
  [[nodiscard]] virtual auto absorb(int outcome) noexcept -> bool = 0;

  [[nodiscard]] auto on() const noexcept -> loop& { return *loop_; }

 private:
  static auto begin(awaiter_base& self) noexcept -> std::coroutine_handle<>;
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal;
  static void moved(io_transfer& self, int outcome) noexcept;
  static void ready(io_transfer& self) noexcept;
  static void moved_early(io_transfer& self, int outcome) noexcept;
  static void ready_early(io_transfer& self) noexcept;
  [[nodiscard]] auto over_or_waiting() noexcept -> bool;
  void go_on(bool over) noexcept;

  static void describe(const awaiter_base& self, std::string& text);
  static const wait_layout layout;
  static constexpr operation operations{&begin, &withdraw, "I/O", &describe, nullptr, &layout};
  static constexpr answers answered_normally{&moved, &ready};
  static constexpr answers answered_early{&moved_early, &ready_early};  // used after `end_read_waits`

  loop* loop_;
  bool is_to_end_ = false;   // the kernel has the operation, and was requested once to return it
  bool is_stopped_ = false;  // stopped, while the kernel still has the operation
};

}  // namespace braid::detail
