// braid/io/detail/port_operation.hpp: one wait of a coroutine for a descriptor: tried first, and then left to the
// backend.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/leaf.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/descriptor.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/transfer.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <utility>

namespace braid::detail {

/// An open descriptor of a loop. Forgotten by the backend and then closed.
class BRAID_API open_port {
 public:
  open_port(loop& on, descriptor owned, io_port::kind what) noexcept;
  open_port(const open_port&) = delete;
  auto operator=(const open_port&) -> open_port& = delete;
  /// Requires that nothing is pending, and the loop.
  ~open_port();

  [[nodiscard]] auto on() const noexcept -> loop& { return *on_; }
  [[nodiscard]] auto port() noexcept -> io_port& { return port_; }
  [[nodiscard]] auto number() const noexcept -> int { return owned_.number(); }

 private:
  loop* on_;
  descriptor owned_;
  io_port port_;
};

/// Tries at home, and waits where the try would block. A stop withdraws it: an attempt moves what it moves or nothing,
/// so that nothing gets lost.
/// Protocol: docs/design/sockets.md
class BRAID_API port_operation : public leaf, protected io_transfer {
 public:
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    return transfer_to(suspend(self.promise(), self));
  }

  /// The read that waits on the port ends now, and later ones where they would wait: with what has arrived, or with
  /// -ECANCELED. Requires that operations alone wait on it.
  static void end_read_waits(open_port& of) noexcept;

 protected:
  /// Requires an open port, and that it has no operation of the same side when this one is awaited.
  port_operation(open_port* on, io_interest side, aim what) noexcept;
  ~port_operation() = default;

  /// Tries. False: it would block, and the port knows that.
  [[nodiscard]] virtual auto attempt() noexcept -> bool = 0;
  /// The backend has moved so many bytes, or none for an error, whose number is negative. False: there is more to do.
  [[nodiscard]] virtual auto absorb(int outcome) noexcept -> bool = 0;

  [[nodiscard]] auto on() const noexcept -> loop& { return *on_; }

 private:
  static auto begin(leaf& self) noexcept -> std::coroutine_handle<>;
  static auto withdraw(leaf& self) noexcept -> withdrawal;
  static void moved(io_transfer& self, int outcome) noexcept;
  static void ready(io_transfer& self) noexcept;
  static void moved_early(io_transfer& self, int outcome) noexcept;
  static void ready_early(io_transfer& self) noexcept;
  [[nodiscard]] auto over_or_waiting() noexcept -> bool;
  void go_on(bool over) noexcept;

  static constexpr operation how{&begin, &withdraw};
  static constexpr answers told{&moved, &ready};
  static constexpr answers told_early{&moved_early, &ready_early};  // once `end_read_waits` has asked the kernel

  loop* on_;
  bool is_to_end_ = false;   // the kernel has it, and was asked to give it back: once
  bool is_stopped_ = false;  // and the kernel still has it
};

}  // namespace braid::detail
