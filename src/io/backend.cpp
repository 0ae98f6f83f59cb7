// src/io/backend.cpp: chooses the backend of a loop, and implements the parts that all backends share.
#include "backends.hpp"

#include "../platform/descriptors.hpp"
#include "../platform/system.hpp"

#include <braid/base/config.hpp>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace braid {
namespace {

struct backend_type {
  std::optional<io_backend::kind> kind;  // none: only `automatic` chooses it
  std::string_view name;
  auto (*make)() -> result<std::unique_ptr<io_backend>>;
};

/// The backends, in the order in which they are tried.
constexpr std::array types{
    backend_type{.kind = io_backend::kind::uring, .name = "uring", .make = &detail::make_uring_backend},
#if __has_include(<sys/epoll.h>)
    backend_type{.kind = io_backend::kind::epoll, .name = "epoll", .make = &detail::make_epoll_backend},
#endif
#if __has_include(<sys/event.h>)
    backend_type{.kind = std::nullopt, .name = "kqueue", .make = &detail::make_kqueue_backend},
#endif
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

auto io_backend::make(kind wanted) -> result<std::unique_ptr<io_backend>> {
  for (const backend_type& type : types)
    if (type.kind == wanted) return type.make();
  if (wanted != kind::automatic) return fail(std::make_error_code(std::errc::function_not_supported));
  const char* named = std::getenv("BRAID_IO");
  return named != nullptr ? make_named(named) : make_first();
}

void descriptor::close() noexcept {
  if (number_ != none) detail::close_descriptor(std::exchange(number_, none));
}

namespace detail {

auto event_ends::create() -> result<event_ends> {
  const event_numbers opened = open_event();
  if (opened.read < 0) return fail(last_system_error());
  return event_ends{descriptor(opened.read), descriptor(opened.write)};
}

auto wake_signal::create() -> result<wake_signal> {
  auto ends = event_ends::create();
  if (!ends) return fail(ends.error());
  return wake_signal(std::move(*ends));
}

void wake_signal::raise() const noexcept { raise_event(ends_.writable()); }

void wake_signal::clear() const noexcept { clear_event(ends_.read.number()); }

void cannot_wait(const char* call, int error) noexcept {
  const std::string sentence = std::string("a loop cannot wait any more: ") + call +
                               " failed: " + to_error_code(error).message() +
                               "; the call must stay allowed while loops run: install seccomp filters before the "
                               "first loop is created, and do not close a loop's descriptors";
  contract_failed(sentence, "the system call of a waiting loop succeeds");
}

}  // namespace detail
}  // namespace braid
