// src/base/error.cpp: defines the messages of the error codes, and the `std::errc` condition that each code is
// equivalent to.
#include <braid/base/error.hpp>

#include "../platform/system.hpp"

#include <cerrno>
#include <string>

namespace braid {
namespace {

class braid_errors final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "braid"; }

  [[nodiscard]] auto message(int value) const -> std::string override {
    switch (static_cast<errc>(value)) {
      case errc::stopped: return "the work was stopped before it was done";
      case errc::deadline_exceeded: return "the deadline passed before the work was done";
      case errc::closed: return "already closed; nothing more is accepted";
      case errc::dropped: return "the work was dropped by a shutdown before it ran";
      case errc::cycle: return "the edges form a cycle";
      case errc::would_deadlock: return "the caller would wait for itself";
      case errc::invalid_argument: return "the call does not allow this value";
      case errc::broken_promise: return "the promise was dropped without a result";
      case errc::already_set: return "the value has been set already";
      case errc::full: return "there is no room for more";
      case errc::stale: return "the handle is stale, because its slot was reused";
      case errc::finished: return "the operation has finished already";
      case errc::unfinished: return "the operation has not finished yet";
      case errc::ended: return "the stream ended too early";
      case errc::unknown_host: return "no address was found for this host name";
      case errc::unknown_backend: return "BRAID_IO must be uring, epoll or poll (on macOS, kqueue or poll)";
      case errc::bad_address:
        return "not an address: write 127.0.0.1:80, [::1]:80 or unix:/path (names need a resolver)";
      case errc::bad_interval: return "the interval must be positive, and not too long";
      case errc::too_long: return "the line or block exceeds the limit of the reader";
      case errc::status_lost:
        return "the status of the child is lost, because SIGCHLD is ignored or another call has waited for any child";
    }
    return "unknown braid error";
  }

  [[nodiscard]] auto default_error_condition(int value) const noexcept -> std::error_condition override {
    switch (static_cast<errc>(value)) {
      case errc::stopped: return std::errc::operation_canceled;
      case errc::deadline_exceeded: return std::errc::timed_out;
      case errc::would_deadlock: return std::errc::resource_deadlock_would_occur;
      case errc::too_long: return std::errc::message_size;
      case errc::bad_address:
      case errc::bad_interval:
      case errc::invalid_argument: return std::errc::invalid_argument;
      default: return {value, *this};
    }
  }
};

}  // namespace

auto detail::braid_category() noexcept -> const std::error_category& {
  static const braid_errors instance;
  return instance;
}

namespace {

/// Constructs the error category when the library is loaded. If a thread constructed it during a fork, the guard of
/// this static object would stay locked in the child.
[[maybe_unused]] const std::error_category& braid_errors_made_early = detail::braid_category();

}  // namespace

auto make_error_code(errc code) noexcept -> std::error_code {
  return {static_cast<int>(code), detail::braid_category()};
}

auto last_system_error() noexcept -> std::error_code { return detail::to_error_code(errno); }

}  // namespace braid
