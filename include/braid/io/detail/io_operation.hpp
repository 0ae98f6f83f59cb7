// braid/io/detail/io_operation.hpp: one wait of a coroutine for a descriptor: tried first, and then left to the
// backend.
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

/// An open descriptor of a loop. Forgotten by the backend and then closed.
class BRAID_API open_descriptor {
 public:
  open_descriptor(loop& loop, descriptor owned, io_registration::kind kind) noexcept;
  open_descriptor(const open_descriptor&) = delete;
  auto operator=(const open_descriptor&) -> open_descriptor& = delete;
  /// Requires that nothing is pending, and the loop.
  ~open_descriptor();

  /// Belongs to another loop from now on. Requires that nothing is pending; the thread of its loop, once something has
  /// waited on it.
  void move_to(loop& other) noexcept;

  [[nodiscard]] auto on() const noexcept -> loop& { return *loop_; }
  [[nodiscard]] auto registration() noexcept -> io_registration& { return registration_; }
  [[nodiscard]] auto number() const noexcept -> int { return owned_.number(); }

 private:
  loop* loop_;
  descriptor owned_;
  io_registration registration_;
};

/// An operation that first tries at home, and waits if the try would block. A stop withdraws it. An attempt
/// moves bytes and says how many, or moves none: the operation knows every byte that it has moved.
/// Protocol: docs/design/sockets.md
class BRAID_API io_operation : public awaiter_base, protected io_transfer {
 public:
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), self, place));
  }

  /// Ends the waiting read of the registration, and later reads that would wait: with the bytes that have arrived, or
  /// with -ECANCELED. Requires that only operations wait on it.
  static void end_read_waits(open_descriptor& of) noexcept;

 protected:
  /// Requires an open registration, and that it has no operation of the same side when this one is awaited.
  io_operation(open_descriptor* on, io_interest side, aim aim) noexcept;
  /// Constructs the same operation again. Requires that the other one was not awaited.
  io_operation(io_operation&& other) noexcept;
  ~io_operation() = default;

  /// Tries the operation. Returns false if it would block, which the registration then knows.
  [[nodiscard]] virtual auto attempt() noexcept -> bool = 0;
  /// Called when the backend has moved `outcome` bytes; a negative number is an error. Returns false if there is more
  /// to do.
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
  static constexpr operation how{&begin, &withdraw, "I/O", &describe, nullptr, &layout};
  static constexpr answers answered_normally{&moved, &ready};
  static constexpr answers answered_early{&moved_early, &ready_early};  // once `end_read_waits` has asked the kernel

  loop* loop_;
  bool is_to_end_ = false;   // the kernel has it, and was asked once to return it
  bool is_stopped_ = false;  // and the kernel still has it
};

}  // namespace braid::detail
