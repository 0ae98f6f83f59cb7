// sim/files.cpp: reads, writes and locks files. Descriptors of files stay real descriptors of the kernel. A thread
// whose call would block waits in the simulator, and makes the call when the descriptor is ready.
#include <sim/descriptors.hpp>

#include <sys/eventfd.h>
#include <sys/file.h>

namespace sim {
namespace {

auto receive(int descriptor, std::span<const iovec> parts) -> ssize_t {
  message wanted{.parts = parts};
  const std::shared_ptr<object> found = find_object(descriptor);
  return found->receive(descriptor, wanted);
}

auto send(int descriptor, std::span<const iovec> parts) -> ssize_t {
  const std::shared_ptr<object> found = find_object(descriptor);
  return found->send(descriptor, {.parts = parts});
}

}  // namespace

// --- reading and writing ---

SIM_CALL(ssize_t, read, int descriptor, void* memory, size_t size) {
  if (!on()) return REAL(read)(descriptor, memory, size);
  if (find_object(descriptor) != nullptr) {
    const iovec part{memory, size};
    return receive(descriptor, {&part, 1});
  }
  return when_ready(call::read, descriptor, POLLIN, true, [&] { return REAL(read)(descriptor, memory, size); });
}

SIM_CALL(ssize_t, __read_chk, int descriptor, void* memory, size_t size, size_t /*room*/) {
  return sim_read(descriptor, memory, size);
}

SIM_CALL(ssize_t, readv, int descriptor, const iovec* parts, int count) {
  if (!on()) return REAL(readv)(descriptor, parts, count);
  if (find_object(descriptor) != nullptr) return receive(descriptor, {parts, static_cast<std::size_t>(count)});
  return when_ready(call::read, descriptor, POLLIN, true, [&] { return REAL(readv)(descriptor, parts, count); });
}

SIM_CALL(ssize_t, write, int descriptor, const void* memory, size_t size) {
  if (!on()) return REAL(write)(descriptor, memory, size);
  if (find_object(descriptor) != nullptr) {
    const iovec part{const_cast<void*>(memory), size};
    return send(descriptor, {&part, 1});
  }
  return when_ready(call::write, descriptor, POLLOUT, true, [&] { return REAL(write)(descriptor, memory, size); });
}

SIM_CALL(ssize_t, writev, int descriptor, const iovec* parts, int count) {
  if (!on()) return REAL(writev)(descriptor, parts, count);
  if (find_object(descriptor) != nullptr) return send(descriptor, {parts, static_cast<std::size_t>(count)});
  return when_ready(call::write, descriptor, POLLOUT, true, [&] { return REAL(writev)(descriptor, parts, count); });
}

SIM_CALL(int, eventfd_read, int descriptor, eventfd_t* value) {
  return sim_read(descriptor, value, sizeof(*value)) == sizeof(*value) ? 0 : -1;
}

SIM_CALL(int, eventfd_write, int descriptor, eventfd_t value) {
  return sim_write(descriptor, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

SIM_CALL(int, flock, int descriptor, int operation) {
  if (!on() || (operation & LOCK_NB) != 0) return REAL(flock)(descriptor, operation);
  point(call::file_lock);
  for (;;) {
    const int status = REAL(flock)(descriptor, operation | LOCK_NB);
    if (status == 0 || errno != EWOULDBLOCK) return status;
    const wait again{.kind = call::file_lock, .deadline = now() + second / 1000, .is_outside = true};
    if (block(again) == woken::interrupted) return fail(EINTR);
  }
}

}  // namespace sim
