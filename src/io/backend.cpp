// src/io/backend.cpp: which backend a loop gets, and the parts that backends share.
#include "backends.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace braid {
namespace {

struct backend_type {
  io_backend::kind kind;
  std::string_view name;
  auto (*make)() -> result<std::unique_ptr<io_backend>>;
};

/// The best first.
constexpr std::array types{
    backend_type{.kind = io_backend::kind::uring, .name = "uring", .make = &detail::make_uring_backend},
    backend_type{.kind = io_backend::kind::epoll, .name = "epoll", .make = &detail::make_epoll_backend},
    backend_type{.kind = io_backend::kind::poll, .name = "poll", .make = &detail::make_poll_backend},
};

auto make_named(std::string_view name) -> result<std::unique_ptr<io_backend>> {
  for (const backend_type& type : types)
    if (type.name == name) return type.make();
  return fail(errc::unknown_backend);
}

auto make_first() -> result<std::unique_ptr<io_backend>> {
  result<std::unique_ptr<io_backend>> made;
  for (const backend_type& type : types) {
    made = type.make();
    if (made) break;
  }
  return made;
}

}  // namespace

io_backend::~io_backend() = default;

void io_backend::release(detail::io_registration& registration) noexcept { forget(registration); }

auto io_backend::make(kind of) -> result<std::unique_ptr<io_backend>> {
  for (const backend_type& type : types)
    if (type.kind == of) return type.make();
  const char* named = std::getenv("BRAID_IO");
  return named != nullptr ? make_named(named) : make_first();
}

void descriptor::close() noexcept {
  // Not tried again after EINTR: Linux has closed it by then.
  if (number_ != none) ::close(std::exchange(number_, none));
}

namespace detail {

auto wake_signal::create() -> result<wake_signal> {
  descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail(last_system_error());
  return wake_signal(std::move(event));
}

void wake_signal::raise() const noexcept {
  const std::uint64_t one = 1;
  // The only failure is a full counter, and then the loop wakes as well.
  [[maybe_unused]] const auto written = ::write(event_.number(), &one, sizeof(one));
}

void wake_signal::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(event_.number(), &count, sizeof(count));
}

}  // namespace detail
}  // namespace braid
