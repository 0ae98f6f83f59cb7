// braid/io/detail/transfer.hpp: transfers of bytes through a descriptor that stays registered with a backend while it
// is open.
#pragma once

#include <braid/base/intrusive_list.hpp>
#include <braid/io/backend.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/socket.h>

namespace braid::detail {

class io_operation;
class io_transfer;

/// A backend's record of an open descriptor. The first transfer that has to wait registers the descriptor, once for all
/// later transfers. The registration is removed before the descriptor is closed.
/// Threads: the same as for the backend. Lifetime: must not be moved, and must outlive its transfers.
class io_registration {
 public:
  enum class kind : std::uint8_t {
    tcp,     ///< a TCP socket: a short read has emptied it
    socket,  ///< another socket: uses recv and sendmsg
    other,   ///< a pipe or a device: uses read and writev
  };

  io_registration(int descriptor, kind type) noexcept
      : descriptor_(descriptor), kind_(type), short_reads_are_final_(type == kind::tcp) {}
  io_registration(const io_registration&) = delete;
  auto operator=(const io_registration&) -> io_registration& = delete;

  [[nodiscard]] auto descriptor() const noexcept -> int { return descriptor_; }
  [[nodiscard]] auto is_socket() const noexcept -> bool { return kind_ != kind::other; }
  [[nodiscard]] auto pending(io_interest side) const noexcept -> io_transfer* { return pending_[index(side)]; }
  [[nodiscard]] auto is_registered() const noexcept -> bool { return is_registered_; }

  /// Returns whether a system call is worth trying, because it may succeed without waiting. The result becomes false
  /// after a call that would have blocked, or after a read that has emptied the descriptor. It stays false until the
  /// kernel reports readiness.
  [[nodiscard]] auto may_be_ready(io_interest side) const noexcept -> bool { return may_be_ready_[index(side)]; }

  // The following functions are called only by backends, and by code that makes its own system calls.
  void set_pending(io_interest side, io_transfer* item) noexcept { pending_[index(side)] = item; }
  void set_registered(bool registered) noexcept { is_registered_ = registered; }
  void set_ready(io_interest side, bool ready) noexcept { may_be_ready_[index(side)] = ready; }
  /// Returns whether a short read (a read that returned less than was requested) has emptied the descriptor. For TCP
  /// this is true until the kernel reports an end, an error or urgent data. The kernel reports these only once,
  /// together with data. After that, a short read does not mean that nothing is left.
  [[nodiscard]] auto short_reads_are_final() const noexcept -> bool { return short_reads_are_final_; }
  void distrust_short_reads() noexcept { short_reads_are_final_ = false; }
  /// Returns whether a read that finds no bytes ends at once instead of waiting. If it does, a read is always worth
  /// trying.
  [[nodiscard]] auto ends_read_waits() const noexcept -> bool { return ends_read_waits_; }
  /// Resets the flags to those of a new descriptor: a call in either direction is worth trying.
  void begin_anew() noexcept {
    may_be_ready_ = {true, true};
    ends_read_waits_ = false;
  }
  void set_ends_read_waits(bool ends) noexcept { ends_read_waits_ = ends; }

 private:
  friend class io_operation;  // uses the offset of a member
  static constexpr auto index(io_interest side) noexcept -> std::size_t { return side == io_interest::read ? 0 : 1; }

  int descriptor_;
  kind kind_;
  bool short_reads_are_final_;
  bool is_registered_ = false;
  bool ends_read_waits_ = false;
  std::array<bool, 2> may_be_ready_{true, true};
  std::array<io_transfer*, 2> pending_{};
};

/// The links by which a backend stores a transfer in its own lists.
struct io_transfer_hook : list_hook {};

/// A read or write of bytes, or a wait until one is possible. It is a member of the object that waits. Each side of a
/// registration has at most one transfer at a time. A backend answers a transfer once, within `wait`. The answer is
/// either the number of bytes that the backend has moved itself, or a report that a system call is worth trying.
class io_transfer : public io_transfer_hook {
 public:
  struct answers {
    /// Called with the number of moved bytes, or a negative error number.
    void (*moved)(io_transfer& self, int outcome) noexcept;
    void (*ready)(io_transfer& self) noexcept;
  };
  enum class aim : std::uint8_t {
    readiness,  ///< only a report of readiness
    bytes,      ///< a transfer of the bytes to which `message` points
  };

  io_transfer(io_registration& registration, io_interest side, aim wanted, const answers& functions) noexcept
      : answers_(&functions), registration_(&registration), side_(side), aim_(wanted) {}

  [[nodiscard]] auto registration() const noexcept -> io_registration& { return *registration_; }
  [[nodiscard]] auto side() const noexcept -> io_interest { return side_; }
  [[nodiscard]] auto wants_bytes() const noexcept -> bool { return aim_ == aim::bytes; }
  /// Returns the buffers. They belong to the kernel from `start` until the transfer is answered.
  [[nodiscard]] auto message() noexcept -> msghdr& { return message_; }

  /// Sets the functions that the backend calls for later answers.
  void answer_by(const answers& functions) noexcept { answers_ = &functions; }
  void answer_moved(int outcome) noexcept { answers_->moved(*this, outcome); }
  void answer_ready() noexcept { answers_->ready(*this); }

 private:
  friend class io_operation;  // uses the offset of a member
  const answers* answers_;
  io_registration* registration_;
  io_interest side_;
  aim aim_;
  msghdr message_{};
};

/// Moves the bytes that can be moved at once, and records in the registration whether another try would block. Returns
/// the number of moved bytes, or a negative error number; -EAGAIN means that the call would block. Never raises SIGPIPE
/// for a socket. Retries after EINTR.
[[nodiscard]] BRAID_API auto move_now(io_transfer& item) noexcept -> int;

}  // namespace braid::detail
