// sim/descriptors.cpp: implements the table of simulated descriptors, and the calls that copy, close or query
// descriptors.
#include <sim/descriptors.hpp>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstring>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sim {
namespace {

constexpr int max_descriptors = 1 << 16;

/// Returns the table of simulated objects by descriptor. It is never destroyed, because threads may run until the
/// process exits.
auto table() -> std::span<std::shared_ptr<object>> {
  static auto* first =
      static_cast<std::shared_ptr<object>*>(take_memory(max_descriptors * sizeof(std::shared_ptr<object>)));
  return {first, max_descriptors};  // the system's memory is zero, which equals an empty pointer
}

void drop(int descriptor) {
  const std::shared_ptr<object> gone = std::move(table()[static_cast<std::size_t>(descriptor)]);
  if (gone == nullptr || --gone->descriptors > 0) return;
  forget_watches(*gone);
  gone->close();
}

auto copied(int from, long made) -> int {
  if (made >= 0 && static_cast<int>(made) != from) set_object(static_cast<int>(made), find_object(from));
  descriptors_changed();
  return static_cast<int>(made);
}

}  // namespace

auto find_object(int descriptor) -> const std::shared_ptr<object>& {
  static const std::shared_ptr<object> none;
  return descriptor >= 0 && descriptor < max_descriptors ? table()[static_cast<std::size_t>(descriptor)] : none;
}

void set_object(int descriptor, std::shared_ptr<object> made) {
  if (descriptor >= max_descriptors) report_and_exit("the program has more descriptors than the simulator supports");
  if (made != nullptr) ++made->descriptors;
  drop(descriptor);
  table()[static_cast<std::size_t>(descriptor)] = std::move(made);
}

auto is_nonblocking(int descriptor) -> bool {
  const long flags = kernel(SYS_fcntl, descriptor, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) != 0;
}

auto wait_for(call kind, int descriptor, const object& waits_for, short events, bool may_wait, nanoseconds deadline)
    -> bool {
  if (!may_wait || now() >= deadline) return fail(EAGAIN) == 0;
  pollfd wanted{descriptor, events, 0};
  const wait until{.kind = kind, .deadline = deadline, .descriptors = &wanted, .descriptor_count = 1};
  if (block(until) == woken::interrupted) return fail(EINTR) == 0;
  return find_object(descriptor).get() == &waits_for || fail(EBADF) == 0;
}

// --- parts of a message ---

auto message::size() const -> std::size_t {
  std::size_t sum = 0;
  for (const iovec& each : parts) sum += each.iov_len;
  return sum;
}

void message::gather(bytes& to_end) const {
  to_end.reserve(size());
  for (const iovec& each : parts) {
    const auto* first = static_cast<const char*>(each.iov_base);
    to_end.insert(to_end.end(), first, first + each.iov_len);
  }
}

auto message::scatter(std::span<const char> from_bytes) const -> std::size_t {
  std::size_t copied_count = 0;
  for (const iovec& each : parts) {
    const std::size_t count = std::min(each.iov_len, from_bytes.size() - copied_count);
    if (count > 0) std::memcpy(each.iov_base, from_bytes.data() + copied_count, count);
    copied_count += count;
  }
  return copied_count;
}

// --- calls that copy, close or query descriptors ---

namespace {

/// Returns true if the program must not close this descriptor, because it is the connection to the coordinator of the
/// world.
auto is_kept(int descriptor) -> bool { return page->wanted.is_machine != 0 && descriptor == world_descriptor; }

}  // namespace

SIM_CALL(int, close, int descriptor) {
  if (!on()) return REAL(close)(descriptor);
  if (is_kept(descriptor)) return fail(EBADF);
  point(call::close);
  if (find_object(descriptor) != nullptr) drop(descriptor);
  const int status = REAL(close)(descriptor);
  descriptors_changed();
  return status;
}

SIM_CALL(int, close_range, unsigned first, unsigned last, int flags) {
  if (on() && (flags & CLOSE_RANGE_CLOEXEC) == 0)
    for (unsigned each = first; each <= last && each < max_descriptors; ++each) drop(static_cast<int>(each));
  if (on() && page->wanted.is_machine != 0 && first <= world_descriptor && last >= world_descriptor) {
    if (first < world_descriptor) kernel(SYS_close_range, first, world_descriptor - 1, flags);
    return last == world_descriptor ? 0 : static_cast<int>(kernel(SYS_close_range, world_descriptor + 1, last, flags));
  }
  return static_cast<int>(kernel(SYS_close_range, first, last, flags));
}

SIM_CALL(int, dup, int descriptor) {
  const long made = kernel(SYS_dup, descriptor);
  return on() ? copied(descriptor, made) : static_cast<int>(made);
}

SIM_CALL(int, dup3, int descriptor, int wanted, int flags) {
  const long made = kernel(SYS_dup3, descriptor, wanted, flags);
  return on() ? copied(descriptor, made) : static_cast<int>(made);
}

SIM_CALL(int, dup2, int descriptor, int wanted) {
  if (descriptor == wanted) return kernel(SYS_fcntl, descriptor, F_GETFD) < 0 ? -1 : wanted;
  return sim_dup3(descriptor, wanted, 0);
}

SIM_CALL(int, fcntl, int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  const long result = kernel(SYS_fcntl, descriptor, command, argument);
  const bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
  return on() && copies ? copied(descriptor, result) : static_cast<int>(result);
}

SIM_CALL(int, fcntl64, int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  return sim_fcntl(descriptor, command, argument);
}

SIM_CALL(int, ioctl, int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  if (on() && request == FIONREAD) {
    if (const auto found = find_object(descriptor)) {
      *reinterpret_cast<int*>(argument) = found->unread();
      return 0;
    }
  }
  return static_cast<int>(kernel(SYS_ioctl, descriptor, static_cast<long>(request), argument));
}

}  // namespace sim
