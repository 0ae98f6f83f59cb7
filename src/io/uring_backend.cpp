// src/io/uring_backend.cpp: the backend of newer Linux: watches are queued, and cost no system call of their own.
#include "backends.hpp"

#if defined(BRAID_URING)

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <liburing.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::detail {
namespace {

constexpr unsigned ring_entries = 256;
constexpr std::uint64_t wake_data = ~std::uint64_t{0};
constexpr std::uint64_t removal_data = wake_data - 1;

class uring_backend final : public io_backend {
 public:
  explicit uring_backend(wake_signal wake) noexcept : wake_(std::move(wake)) {}
  ~uring_backend() override {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }

  /// Errors: the system's; not_supported where the kernel is too old for a wait with a timeout.
  auto open() noexcept -> std::error_code {
    // Completions are worked off only when the one thread that uses the ring asks for them, without interrupts. That
    // thread is not the one that makes the ring: it begins disabled. Before Linux 6.1 none of this is there.
    constexpr unsigned best = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED;
    int status = set_up(best);
    if (status == -EINVAL) status = set_up(IORING_SETUP_R_DISABLED);
    if (status < 0) return {-status, std::system_category()};
    is_open_ = true;
    constexpr unsigned needed = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP | IORING_FEAT_CQE_SKIP;
    if ((ring_.features & needed) != needed) return std::make_error_code(std::errc::not_supported);
    return {};
  }

  [[nodiscard]] auto name() const noexcept -> std::string_view override { return "uring"; }
  [[nodiscard]] auto has_watches() const noexcept -> bool override { return watches_ != 0; }

  void wait(std::optional<duration> timeout) noexcept override {
    enable();
    listen_for_wakes();
    enter(timeout);
    // What completes while they are called waits for the next time.
    for (unsigned left = ::io_uring_cq_ready(&ring_); left != 0; --left) take_completion();
  }

  void wake() noexcept override { wake_.raise(); }

  [[nodiscard]] auto watch(io_watch& item) noexcept -> result<void> override {
    const result<entry*> known = table_.at(item.descriptor);
    if (!known) return fail(known.error());
    place& here = (*known)->places[index_of(item.interest)];
    if (here.waiting != nullptr) return fail(std::make_error_code(std::errc::file_exists));
    io_uring_sqe* request = next_request();
    if (request == nullptr) return fail(std::make_error_code(std::errc::resource_unavailable_try_again));
    ::io_uring_prep_poll_add(request, item.descriptor, events_of(item.interest));
    request->user_data = data_of(item, ++here.times);
    here.waiting = &item;
    ++watches_;
    return {};
  }

  void unwatch(io_watch& item) noexcept override {
    place& here = table_.known(item.descriptor).places[index_of(item.interest)];
    here.waiting = nullptr;
    --watches_;
    // Without room for it the kernel goes on waiting, and what it reports is old news.
    io_uring_sqe* request = next_request();
    if (request == nullptr) return;
    ::io_uring_prep_poll_remove(request, data_of(item, here.times));
    request->user_data = removal_data;
    request->flags |= IOSQE_CQE_SKIP_SUCCESS;
  }

 private:
  struct place {
    io_watch* waiting = nullptr;
    std::uint32_t times = 0;  // how many watches there were: a completion of an earlier one is old news
  };
  struct entry {
    std::array<place, 2> places;  // by interest
  };

  static auto events_of(io_interest interest) noexcept -> unsigned {
    return interest == io_interest::read ? POLLIN | POLLRDHUP : POLLOUT;
  }

  /// Times, descriptor and interest. No descriptor is so high that the lower half is all ones.
  static auto data_of(const io_watch& item, std::uint32_t times) noexcept -> std::uint64_t {
    const auto number = static_cast<std::uint32_t>(item.descriptor);
    return std::uint64_t{times} << 32U | number << 1U | static_cast<std::uint32_t>(index_of(item.interest));
  }

  auto set_up(unsigned flags) noexcept -> int {
    io_uring_params how{};
    how.flags = flags | IORING_SETUP_CLAMP;
    return ::io_uring_queue_init_params(ring_entries, &ring_, &how);
  }

  void enable() noexcept {
    // Not by the library's function: the one of Debian 12 declares it and does not have it.
    if (!std::exchange(is_enabled_, true))
      ::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  }

  auto next_request() noexcept -> io_uring_sqe* {
    if (io_uring_sqe* request = ::io_uring_get_sqe(&ring_)) return request;
    enable();
    ::io_uring_submit(&ring_);
    return ::io_uring_get_sqe(&ring_);
  }

  /// Every wake is reported until the kernel says that it was the last: so nobody reads the counter.
  void listen_for_wakes() noexcept {
    if (is_listening_) return;
    io_uring_sqe* request = next_request();
    if (request == nullptr) return;
    ::io_uring_prep_poll_multishot(request, wake_.number(), POLLIN);
    request->user_data = wake_data;
    is_listening_ = true;
  }

  void enter(std::optional<duration> timeout) noexcept {
    if (!is_listening_ || timeout == duration::zero()) {  // without an ear for wakes it must not block
      ::io_uring_submit_and_get_events(&ring_);
    } else if (timeout) {
      const timespec span = as_timespec(*timeout);
      __kernel_timespec until{.tv_sec = span.tv_sec, .tv_nsec = span.tv_nsec};
      io_uring_cqe* first = nullptr;
      ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &until, nullptr);
    } else {
      ::io_uring_submit_and_wait(&ring_, 1);
    }
  }

  void take_completion() noexcept {
    io_uring_cqe* completion = nullptr;
    if (::io_uring_peek_cqe(&ring_, &completion) != 0) return;
    const std::uint64_t data = completion->user_data;
    const bool is_last = (completion->flags & IORING_CQE_F_MORE) == 0;
    ::io_uring_cqe_seen(&ring_, completion);
    if (data == wake_data)
      is_listening_ = !is_last;
    else if (data != removal_data)
      deliver(data);
  }

  void deliver(std::uint64_t data) noexcept {
    const auto low = static_cast<std::uint32_t>(data);
    place& here = table_.known(static_cast<int>(low >> 1U)).places[low & 1U];
    if (here.times != static_cast<std::uint32_t>(data >> 32U) || here.waiting == nullptr) return;
    io_watch* item = std::exchange(here.waiting, nullptr);
    --watches_;
    item->ready(*item);
  }

  io_uring ring_{};
  wake_signal wake_;
  descriptor_table<entry> table_;
  std::size_t watches_ = 0;
  bool is_open_ = false;
  bool is_enabled_ = false;
  bool is_listening_ = false;
};

}  // namespace

auto make_uring_backend() -> result<std::unique_ptr<io_backend>> {
  auto wake = wake_signal::create();
  if (!wake) return fail(wake.error());
  auto backend = std::make_unique<uring_backend>(std::move(*wake));
  if (const std::error_code refused = backend->open()) return fail(refused);
  return backend;
}

}  // namespace braid::detail

#else

namespace braid::detail {

auto make_uring_backend() -> result<std::unique_ptr<io_backend>> {
  return fail(std::make_error_code(std::errc::function_not_supported));
}

}  // namespace braid::detail

#endif
