// src/io/backend.cpp: chooses the backend of a loop, and implements the parts that all backends share.
#include "backends.hpp"

#include <braid/base/config.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace braid {
namespace {

struct backend_type {
  io_backend::kind kind;
  std::string_view name;
  auto (*make)() -> result<std::unique_ptr<io_backend>>;
};

/// The backends in the order of preference.
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
  // close(2) is not repeated after EINTR, because Linux has closed the descriptor by then.
  if (number_ != none) ::close(std::exchange(number_, none));
}

namespace detail {

auto event_ends::create() -> result<event_ends> {
  if (descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); event) return event_ends{std::move(event), {}};
  const std::error_code refused = last_system_error();
  if (refused == std::errc::too_many_files_open || refused == std::errc::too_many_files_open_in_system)
    return fail(refused);
  std::array<int, 2> numbers{};
  if (::pipe2(numbers.data(), O_NONBLOCK | O_CLOEXEC) != 0) return fail(last_system_error());
  return event_ends{descriptor(numbers[0]), descriptor(numbers[1])};
}

auto wake_signal::create() -> result<wake_signal> {
  auto ends = event_ends::create();
  if (!ends) return fail(ends.error());
  return wake_signal(std::move(*ends));
}

void wake_signal::raise() const noexcept {
  const std::uint64_t one = 1;
  // The write fails only if the counter or pipe is full, and then the loop wakes anyway.
  [[maybe_unused]] const auto written = ::write(ends_.writable(), &one, sizeof(one));
}

/// Clears the event with one read. An eventfd is empty afterwards. A pipe may hold more bytes; it stays readable, and
/// the next wake-up clears them.
void wake_signal::clear() const noexcept {
  std::array<std::uint64_t, 64> raised{};
  [[maybe_unused]] const auto read = ::read(ends_.read.number(), raised.data(), sizeof(raised));
}

void cannot_wait(const char* call, int error) noexcept {
  const std::string sentence = std::string("a loop cannot wait any more: ") + call +
                               " failed: " + std::system_category().message(error) +
                               "; the call must stay allowed while loops run: install seccomp filters before the "
                               "first loop is created, and do not close a loop's descriptors";
  contract_failed(sentence, "the system call of a waiting loop succeeds");
}

}  // namespace detail
}  // namespace braid
