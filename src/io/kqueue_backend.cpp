// src/io/kqueue_backend.cpp: implements the system calls of the backend for macOS, with kqueue(2).
#include "backends.hpp"

#if __has_include(<sys/event.h>)

#include "kqueue_backend.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/event.h>
#include <sys/stat.h>

namespace braid::detail {
namespace {

static_assert(kqueue_event::read == EVFILT_READ);
static_assert(kqueue_event::write == EVFILT_WRITE);
static_assert(kqueue_event::user == EVFILT_USER);
static_assert(kqueue_event::add == EV_ADD);
static_assert(kqueue_event::remove == EV_DELETE);
static_assert(kqueue_event::once == EV_ONESHOT);
static_assert(kqueue_event::edge == EV_CLEAR);
static_assert(kqueue_event::receipt == EV_RECEIPT);
static_assert(kqueue_event::urgent == EV_OOBAND);
static_assert(kqueue_event::error == EV_ERROR);
static_assert(kqueue_event::end == EV_EOF);
static_assert(kqueue_event::trigger == NOTE_TRIGGER);

class system_kqueue final : public kqueue_calls {
 public:
  explicit system_kqueue(descriptor queue) noexcept : queue_(std::move(queue)) {}

  auto kevent(std::span<const kqueue_event> changes, std::span<kqueue_event> events,
              std::optional<duration> timeout) noexcept -> int override {
    std::array<struct ::kevent, max_events> sent;  // not members, because other threads call this to wake the loop
    std::array<struct ::kevent, max_events> received;
    for (std::size_t at = 0; at < changes.size(); ++at) sent[at] = to_system(changes[at]);
    const std::optional<timespec> span = kqueue_timeout(timeout);
    const int count = ::kevent(queue_.number(), sent.data(), static_cast<int>(changes.size()), received.data(),
                               static_cast<int>(events.size()), span ? &*span : nullptr);
    if (count < 0) return -errno;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at) events[at] = from_system(received[at]);
    return count;
  }

  [[nodiscard]] auto number() const noexcept -> int override { return queue_.number(); }

  [[nodiscard]] auto is_regular_file(int descriptor) noexcept -> bool override {
    struct ::stat about{};
    return ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  }

  [[noreturn]] void cannot_wait(int error) noexcept override { detail::cannot_wait("kevent(2)", error); }

 private:
  static auto to_system(const kqueue_event& change) noexcept -> struct ::kevent {
    struct ::kevent converted{};
    converted.ident = change.number;
    converted.filter = change.filter;
    converted.flags = change.flags;
    converted.fflags = change.details;
    converted.udata = reinterpret_cast<void*>(static_cast<std::uintptr_t>(change.mark));
    return converted;
  }

  static auto
  from_system(const struct ::kevent& event) noexcept -> kqueue_event {
    return {.number = event.ident,
            .filter = event.filter,
            .flags = event.flags,
            .details = event.fflags,
            .data = event.data,
            .mark = reinterpret_cast<std::uintptr_t>(event.udata)};
  }

  descriptor queue_;
};

}  // namespace

auto make_kqueue_backend() -> result<std::unique_ptr<io_backend>> {
  descriptor queue(::kqueue());  // the child of a fork does not inherit it
  if (!queue) return fail(last_system_error());
  if (::fcntl(queue.number(), F_SETFD, FD_CLOEXEC) != 0) return fail(last_system_error());
  auto backend = std::make_unique<kqueue_backend>(std::make_unique<system_kqueue>(std::move(queue)));
  if (auto ready = backend->begin(); !ready) return fail(ready.error());
  return backend;
}

}  // namespace braid::detail

#endif
