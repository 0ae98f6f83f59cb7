// braid/runtime/detail/socket_deadline.hpp: a deadline that several calls on a socket share.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <span>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace braid::detail {

/// The time limit of an exchange with an untrusted peer. All calls on the socket share this limit. If each call had its
/// own limit, a peer could prolong the exchange without end by reading or sending a byte from time to time.
class socket_deadline {
 public:
  explicit socket_deadline(duration limit) noexcept : end_(steady_time().now() + limit) {}

  /// Makes a blocking connect of this socket end at the deadline. Returns false if the deadline has passed.
  [[nodiscard]] auto limit_connect(int socket) const noexcept -> bool {
    using std::chrono::microseconds;
    const auto left = std::chrono::ceil<microseconds>(time_left());
    if (left <= microseconds::zero()) return false;  // zero would mean no limit
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const ::timeval limit{.tv_sec = static_cast<::time_t>(seconds.count()),
                          .tv_usec = static_cast<::suseconds_t>((left - seconds).count())};
    return ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
  }

  /// Waits for bytes until the deadline. Returns the number of bytes, 0 at the end of the stream, or a negative number
  /// after an error or after the deadline.
  [[nodiscard]] auto receive(int socket, std::span<char> buffer) const noexcept -> ::ssize_t {
    while (wait_for(socket, POLLIN)) {
      const ::ssize_t got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    }
    return -1;
  }

  /// Sends the whole text. Returns whether the peer or the buffer of the socket has accepted the text before the
  /// deadline. A blocking send is not sufficient, because its time limit starts again with each part that the peer
  /// accepts.
  [[nodiscard]] auto send_all(int socket, std::string_view text) const noexcept -> bool {
    while (!text.empty()) {
      if (!wait_for(socket, POLLOUT)) return false;
      const ::ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EINTR && errno != EAGAIN) return false;
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

 private:
  [[nodiscard]] auto time_left() const noexcept -> duration { return end_ - steady_time().now(); }

  /// Waits until the socket is ready or has failed. Returns false if the deadline passes first.
  [[nodiscard]] auto wait_for(int socket, short event) const noexcept -> bool {
    for (duration left = time_left(); left > duration::zero(); left = time_left()) {
      const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
      const ::timespec limit{.tv_sec = static_cast<::time_t>(seconds.count()),
                             .tv_nsec = static_cast<long>((left - seconds).count())};
      ::pollfd asked{.fd = socket, .events = event, .revents = 0};
      const int ready = ::ppoll(&asked, 1, &limit, nullptr);
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }

  time_point end_;
};

}  // namespace braid::detail
