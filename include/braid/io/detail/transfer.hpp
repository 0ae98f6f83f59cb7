// braid/io/detail/transfer.hpp: moving bytes through a descriptor that a backend knows for as long as it is open.
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

/// A backend's record of an open descriptor. The first transfer that has to wait registers it, once for all later
/// transfers; it is removed before the descriptor is closed.
/// Threads: those of the backend. Lifetime: does not move; outlives its transfers.
class io_registration {
 public:
  enum class kind : std::uint8_t {
    tcp,     ///< a socket, and one whose short reads have emptied it
    socket,  ///< another socket: uses recv and sendmsg
    other,   ///< a pipe or a device: uses read and writev
  };

  io_registration(int descriptor, kind what) noexcept
      : descriptor_(descriptor), kind_(what), short_reads_are_final_(what == kind::tcp) {}
  io_registration(const io_registration&) = delete;
  auto operator=(const io_registration&) -> io_registration& = delete;

  [[nodiscard]] auto descriptor() const noexcept -> int { return descriptor_; }
  [[nodiscard]] auto is_socket() const noexcept -> bool { return kind_ != kind::other; }
  [[nodiscard]] auto pending(io_interest side) const noexcept -> io_transfer* { return pending_[index(side)]; }
  [[nodiscard]] auto is_registered() const noexcept -> bool { return is_registered_; }

  /// Returns whether a system call is worth trying: false after a call that would have blocked, or that left nothing
  /// for the next one, until the kernel reports readiness.
  [[nodiscard]] auto may_be_ready(io_interest side) const noexcept -> bool { return may_be_ready_[index(side)]; }

  // For backends, and for code that tries a system call of its own.
  void set_pending(io_interest side, io_transfer* item) noexcept { pending_[index(side)] = item; }
  void set_registered(bool registered) noexcept { is_registered_ = registered; }
  void set_ready(io_interest side, bool ready) noexcept { may_be_ready_[index(side)] = ready; }
  /// Returns whether a read of less than was requested has emptied the descriptor. This holds for TCP until its end, an
  /// error or urgent data has been reported, because these arrive with the data and are not reported again.
  [[nodiscard]] auto short_reads_are_final() const noexcept -> bool { return short_reads_are_final_; }
  void distrust_short_reads() noexcept { short_reads_are_final_ = false; }
  /// Returns whether a read that finds nothing ends instead of waiting. Then reads may always be ready.
  [[nodiscard]] auto ends_read_waits() const noexcept -> bool { return ends_read_waits_; }
  /// Both directions are worth a try again, as for a descriptor that no backend knows yet.
  void begin_anew() noexcept {
    may_be_ready_ = {true, true};
    ends_read_waits_ = false;
  }
  void set_ends_read_waits(bool ends) noexcept { ends_read_waits_ = ends; }

 private:
  friend class io_operation;  // knows the offset
  static constexpr auto index(io_interest side) noexcept -> std::size_t { return side == io_interest::read ? 0 : 1; }

  int descriptor_;
  kind kind_;
  bool short_reads_are_final_;
  bool is_registered_ = false;
  bool ends_read_waits_ = false;
  std::array<bool, 2> may_be_ready_{true, true};
  std::array<io_transfer*, 2> pending_{};
};

/// The link of a transfer in a backend's own lists.
struct io_transfer_hook : list_hook {};

/// Bytes that must be read or written, or a wait for that to be possible. It is a part of the object that waits. One
/// for each side of a registration at a time. A backend answers once, from `wait`, in one of two ways: it has moved
/// bytes by itself, or it reports that a system call is worth a try.
class io_transfer : public io_transfer_hook {
 public:
  struct answers {
    /// the number of bytes, or the negative number of an error
    void (*moved)(io_transfer& self, int outcome) noexcept;
    void (*ready)(io_transfer& self) noexcept;
  };
  enum class aim : std::uint8_t {
    readiness,  ///< to be notified only
    bytes,      ///< to fill or empty what `message` points to
  };

  io_transfer(io_registration& registration, io_interest side, aim wanted, const answers& how) noexcept
      : answers_(&how), registration_(&registration), side_(side), aim_(wanted) {}

  [[nodiscard]] auto registration() const noexcept -> io_registration& { return *registration_; }
  [[nodiscard]] auto side() const noexcept -> io_interest { return side_; }
  [[nodiscard]] auto wants_bytes() const noexcept -> bool { return aim_ == aim::bytes; }
  /// Returns the buffers: they belong to the kernel from `start` until the transfer is answered.
  [[nodiscard]] auto message() noexcept -> msghdr& { return message_; }

  /// Sets how it is answered from now on.
  void answer_by(const answers& how) noexcept { answers_ = &how; }
  void answer_moved(int outcome) noexcept { answers_->moved(*this, outcome); }
  void answer_ready() noexcept { answers_->ready(*this); }

 private:
  friend class io_operation;  // knows the offset
  const answers* answers_;
  io_registration* registration_;
  io_interest side_;
  aim aim_;
  msghdr message_{};
};

/// Moves the bytes that can be moved at once, and notes in the registration what the next try will find. Returns the
/// number of bytes, or the negative number of an error: -EAGAIN if it would block. Never raises SIGPIPE for a socket.
/// Retries after EINTR.
[[nodiscard]] BRAID_API auto move_now(io_transfer& item) noexcept -> int;

}  // namespace braid::detail
