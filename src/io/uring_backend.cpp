// src/io/uring_backend.cpp: implements the backend for newer Linux kernels, with io_uring. Requests are queued, and
// need no system call of their own.
#include "backends.hpp"

#include <braid/io/detail/transfer.hpp>

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

// docs/design/constants.md gives the reasons for these values.
constexpr unsigned ring_entries = 256;
constexpr unsigned completion_entries = 2048;  // the kernel keeps further completions, but more slowly

// The position of the tag in a completion's data. The two highest bits tell whether the completion belongs to a watch,
// to a transfer or to the backend itself.
constexpr unsigned tag_shift = 62;
constexpr std::uint64_t transfer_tag = std::uint64_t{1} << tag_shift;
constexpr std::uint64_t own_tag = std::uint64_t{3} << tag_shift;
constexpr std::uint64_t wake_data = own_tag;
constexpr std::uint64_t removal_data = own_tag + 1;
constexpr std::uint32_t max_times = (std::uint32_t{1} << 30U) - 1;

class uring_backend final : public io_backend {
 public:
  explicit uring_backend(wake_signal wake) noexcept : wake_(std::move(wake)) {}
  ~uring_backend() override {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }

  /// Creates the ring.
  /// Errors: the error of the system call, or not_supported if the kernel is too old for a wait with a timeout.
  auto open() noexcept -> std::error_code {
    // With these flags the kernel processes completions only when the thread that uses the ring requests them, without
    // interrupts. Another thread creates the ring, so the ring begins disabled. Linux before 6.1 does not support these
    // flags.
    constexpr unsigned best = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED;
    int status = set_up(best);
    is_recent_ = status == 0;
    if (status == -EINVAL) status = set_up(IORING_SETUP_R_DISABLED);
    if (status < 0) return {-status, std::system_category()};
    is_open_ = true;
    constexpr unsigned needed = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP | IORING_FEAT_CQE_SKIP;
    if ((ring_.features & needed) != needed) return std::make_error_code(std::errc::not_supported);
    return refusal_of_later_calls();
  }

  [[nodiscard]] auto name() const noexcept -> std::string_view override { return "uring"; }
  [[nodiscard]] auto has_watches() const noexcept -> bool override { return watches_ != 0; }

  void wait(std::optional<duration> timeout) noexcept override {
    enable();
    listen_for_wakes();
    send_rest();
    enter(timeout);
    // Completions that arrive during these calls are processed by the next wait.
    for (unsigned left = ::io_uring_cq_ready(&ring_); left != 0; --left) take_completion();
  }

  void wake() noexcept override { wake_.raise(); }

  [[nodiscard]] auto watch(io_watch& item) noexcept -> result<void> override {
    const result<entry*> known = table_.at(item.descriptor);
    if (!known) return fail(known.error());
    place& here = (*known)->places[index_of(item.interest)];
    if (here.waiting != nullptr || (*known)->registration != nullptr)
      return fail(std::make_error_code(std::errc::file_exists));
    io_uring_sqe* request = next_request();
    if (request == nullptr) return fail(std::make_error_code(std::errc::resource_unavailable_try_again));
    ::io_uring_prep_poll_add(request, item.descriptor, to_events(item.interest));
    here.times = (here.times + 1) & max_times;
    request->user_data = pack_data(item, here.times);
    here.waiting = &item;
    ++watches_;
    return {};
  }

  void unwatch(io_watch& item) noexcept override {
    place& here = table_.known(item.descriptor).places[index_of(item.interest)];
    here.waiting = nullptr;
    --watches_;
    // If the ring has no room for the request, the kernel continues to wait. The later completion of that wait is
    // ignored, because this watch is no longer registered here.
    io_uring_sqe* request = next_request();
    if (request == nullptr) return;
    ::io_uring_prep_poll_remove(request, pack_data(item, here.times));
    request->user_data = removal_data;
    request->flags |= IOSQE_CQE_SKIP_SUCCESS;
  }

  [[nodiscard]] auto start(io_transfer& item) noexcept -> result<void> override {
    io_registration& registration = item.registration();
    if (!registration.is_registered())
      if (auto added = add(registration); !added) return added;
    registration.set_pending(item.side(), &item);
    ++watches_;
    if (!submit_transfer(item)) unsent_.push_back(item);
    return {};
  }

  [[nodiscard]] auto cancel(io_transfer& item) noexcept -> bool override {
    if (item.is_linked()) {  // the kernel does not have the request yet
      item.unlink();
      finish(item);
      return true;
    }
    if (!request_end(item)) unended_.push_back(item);
    return false;
  }

  void forget(io_registration& registration) noexcept override {
    if (!registration.is_registered()) return;
    registration.set_registered(false);
    table_.known(registration.descriptor()).registration = nullptr;
  }

 private:
  struct place {
    io_watch* waiting = nullptr;
    std::uint32_t times = 0;  // the number of watches so far: completions of earlier ones are outdated
  };
  struct entry {
    std::array<place, 2> places;  // the places by interest
    io_registration* registration = nullptr;
  };

  static auto to_events(io_interest interest) noexcept -> unsigned {
    return interest == io_interest::read ? POLLIN | POLLRDHUP : POLLOUT;
  }

  /// Packs the watch count, the descriptor and the interest into the data of a completion.
  static auto pack_data(const io_watch& item, std::uint32_t times) noexcept -> std::uint64_t {
    const auto number = static_cast<std::uint32_t>(item.descriptor);
    return std::uint64_t{times} << 32U | number << 1U | static_cast<std::uint32_t>(index_of(item.interest));
  }

  /// Returns an error if a sandbox permits the creation of the ring but refuses later calls. Both calls of this test
  /// fail even without a sandbox, with known errors: a disabled ring cannot be entered, and has no eventfd to remove.
  /// Any other error comes from a sandbox.
  [[nodiscard]] auto refusal_of_later_calls() const noexcept -> std::error_code {
    const bool may_enter = ::syscall(SYS_io_uring_enter, ring_.ring_fd, 0, 0, 0, nullptr, 0) >= 0 || errno == EBADFD;
    if (!may_enter) return last_system_error();
    const bool may_register =
        ::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_UNREGISTER_EVENTFD, nullptr, 0) >= 0 || errno == ENXIO;
    return may_register ? std::error_code() : last_system_error();
  }

  auto set_up(unsigned flags) noexcept -> int {
    io_uring_params parameters{};
    parameters.flags = flags | IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
    parameters.cq_entries = completion_entries;
    return ::io_uring_queue_init_params(ring_entries, &ring_, &parameters);
  }

  void enable() noexcept {
    // Makes the system call directly, because the liburing of Debian 12 declares the function but does not define it.
    if (std::exchange(is_enabled_, true)) return;
    if (::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) < 0)
      cannot_wait("io_uring_register(2)", errno);
  }

  /// Returns whether io_uring_enter(2) succeeded or failed for a temporary reason: a timeout, an interruption, a full
  /// queue or a lack of memory.
  static auto passes(int status) noexcept -> bool {
    return status >= 0 || status == -EINTR || status == -ETIME || status == -EAGAIN || status == -EBUSY ||
           status == -ENOMEM || status == -EBADR;
  }

  auto next_request() noexcept -> io_uring_sqe* {
    if (io_uring_sqe* request = ::io_uring_get_sqe(&ring_)) return request;
    enable();
    ::io_uring_submit(&ring_);
    return ::io_uring_get_sqe(&ring_);
  }

  /// Registers the wake-up event once. The kernel reports each wake-up until the request ends, so the event's counter
  /// is never read.
  void listen_for_wakes() noexcept {
    if (is_listening_) return;
    io_uring_sqe* request = next_request();
    if (request == nullptr) return;
    ::io_uring_prep_poll_multishot(request, wake_.number(), POLLIN);
    request->user_data = wake_data;
    is_listening_ = true;
  }

  void enter(std::optional<duration> timeout) noexcept {
    const trace_slice slice = trace_wait(timeout);
    int status = 0;
    if (!is_listening_ || timeout == duration::zero()) {  // it must not block while wakes are not reported
      status = ::io_uring_submit_and_get_events(&ring_);
    } else if (timeout) {
      const timespec span = as_timespec(*timeout);
      __kernel_timespec until{.tv_sec = span.tv_sec, .tv_nsec = span.tv_nsec};
      io_uring_cqe* first = nullptr;
      status = ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &until, nullptr);
    } else {
      status = ::io_uring_submit_and_wait(&ring_, 1);
    }
    if (!passes(status)) cannot_wait("io_uring_enter(2)", -status);
  }

  /// Records the registration of a descriptor. A descriptor may have either one registration or watches, but not both.
  [[nodiscard]] auto add(io_registration& registration) noexcept -> result<void> {
    const result<entry*> found = table_.at(registration.descriptor());
    if (!found) return fail(found.error());
    entry& known = **found;
    if (known.registration != nullptr || known.places[0].waiting != nullptr || known.places[1].waiting != nullptr)
      return fail(std::make_error_code(std::errc::file_exists));
    known.registration = &registration;
    registration.set_registered(true);
    return {};
  }

  /// Returns whether the kernel itself transfers the bytes. Otherwise the kernel only reports readiness.
  [[nodiscard]] auto moves_bytes(const io_transfer& item) const noexcept -> bool {
    return item.wants_bytes() && item.registration().is_socket() && recv_waits_;
  }

  static auto pack_data(const io_transfer& item) noexcept -> std::uint64_t {
    return reinterpret_cast<std::uintptr_t>(&item) | transfer_tag;
  }

  /// Submits the request of a transfer. Returns false if the ring is full.
  [[nodiscard]] auto submit_transfer(io_transfer& item) noexcept -> bool {
    io_uring_sqe* request = next_request();
    if (request == nullptr) return false;
    const io_registration& registration = item.registration();
    const msghdr& message = item.message();
    if (!moves_bytes(item))
      ::io_uring_prep_poll_add(request, registration.descriptor(), to_events(item.side()));
    else if (message.msg_iovlen != 1)
      ::io_uring_prep_sendmsg(request, registration.descriptor(), &message, MSG_NOSIGNAL);
    else if (item.side() == io_interest::write)
      ::io_uring_prep_send(request, registration.descriptor(), message.msg_iov->iov_base, message.msg_iov->iov_len,
                           MSG_NOSIGNAL);
    else
      ::io_uring_prep_recv(request, registration.descriptor(), message.msg_iov->iov_base, message.msg_iov->iov_len, 0);
    if (is_recent_ && request->opcode != IORING_OP_POLL_ADD && !registration.may_be_ready(item.side()))
      request->ioprio |= IORING_RECVSEND_POLL_FIRST;
    request->user_data = pack_data(item);
    return true;
  }

  [[nodiscard]] auto request_end(const io_transfer& item) noexcept -> bool {
    io_uring_sqe* request = next_request();
    if (request == nullptr) return false;
    ::io_uring_prep_cancel64(request, pack_data(item), 0);
    request->user_data = removal_data;
    request->flags |= IOSQE_CQE_SKIP_SUCCESS;
    return true;
  }

  /// Submits the requests that did not fit into the ring before.
  void send_rest() noexcept {
    while (!unsent_.empty() && submit_transfer(unsent_.front())) unsent_.front().unlink();
    while (!unended_.empty() && request_end(unended_.front())) unended_.front().unlink();
  }

  void take_completion() noexcept {
    io_uring_cqe* completion = nullptr;
    if (::io_uring_peek_cqe(&ring_, &completion) != 0) return;
    const std::uint64_t data = completion->user_data;
    const std::uint32_t flags = completion->flags;
    const int outcome = completion->res;
    ::io_uring_cqe_seen(&ring_, completion);
    if (data == wake_data)
      note_wake(flags);
    else if (data >> tag_shift == transfer_tag >> tag_shift)
      answer(*reinterpret_cast<io_transfer*>(data & ~transfer_tag), outcome, flags);
    else if (data != removal_data)
      deliver(data);
  }

  void note_wake(std::uint32_t flags) noexcept {
    is_listening_ = (flags & IORING_CQE_F_MORE) != 0;
    if (wake_.fills_up()) wake_.clear();
  }

  void finish(io_transfer& item) noexcept {
    item.registration().set_pending(item.side(), nullptr);
    --watches_;
  }

  void answer(io_transfer& item, int outcome, std::uint32_t flags) noexcept {
    if (item.is_linked()) item.unlink();  // it has ended before its end was requested
    finish(item);
    count_answer();
    io_registration& registration = item.registration();
    const bool asked_for_bytes = moves_bytes(item);
    const bool more = !is_recent_ || outcome <= 0 || (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
    registration.set_ready(item.side(), item.side() == io_interest::write || !asked_for_bytes || more);
    if (outcome == -EAGAIN) recv_waits_ = false;  // this kernel does not wait for descriptors that do not block
    if (outcome == -ECANCELED || (asked_for_bytes && outcome != -EAGAIN && outcome != -EINTR))
      item.answer_moved(outcome);
    else
      item.answer_ready();
  }

  void deliver(std::uint64_t data) noexcept {
    const auto low = static_cast<std::uint32_t>(data);
    place& here = table_.known(static_cast<int>(low >> 1U)).places[low & 1U];
    if (here.times != static_cast<std::uint32_t>(data >> 32U) || here.waiting == nullptr) return;
    io_watch* item = std::exchange(here.waiting, nullptr);
    --watches_;
    count_answer();
    item->ready(*item);
  }

  io_uring ring_{};
  wake_signal wake_;
  descriptor_table<entry> table_;
  intrusive_list<io_transfer, io_transfer_hook> unsent_;   // transfers that found no room in the ring
  intrusive_list<io_transfer, io_transfer_hook> unended_;  // transfers whose completion has not arrived
  std::size_t watches_ = 0;
  bool is_recent_ = false;  // Linux 6.1 or later
  bool recv_waits_ = true;
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
