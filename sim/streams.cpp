// sim/streams.cpp: implements libc's streams for simulated descriptors. Such streams have read and write functions of
// their own, because libc's streams use internal calls that cannot be replaced.
#include <sim/disk.hpp>

#include <algorithm>
#include <cstdio>

#include <sys/syscall.h>
#include <unistd.h>

namespace sim {
namespace {

/// A stream whose descriptor is simulated.
struct simulated_stream {
  int descriptor = -1;
  FILE* stream = nullptr;
};

/// This object is never destroyed, because streams may be used until the process ends.
auto streams() -> list<simulated_stream*>& {
  static auto* all = new (take_memory(sizeof(list<simulated_stream*>))) list<simulated_stream*>;
  return *all;
}

auto read_stream(void* cookie, char* memory, std::size_t size) -> ssize_t {
  return ::read(static_cast<simulated_stream*>(cookie)->descriptor, memory, size);
}

auto write_stream(void* cookie, const char* memory, std::size_t size) -> ssize_t {
  return ::write(static_cast<simulated_stream*>(cookie)->descriptor, memory, size);
}

auto seek_stream(void* cookie, off64_t* position, int origin) -> int {
  const long found = kernel(SYS_lseek, static_cast<simulated_stream*>(cookie)->descriptor, *position, origin);
  if (found >= 0) *position = found;
  return found < 0 ? -1 : 0;
}

auto close_stream(void* cookie) -> int {
  auto* closed = static_cast<simulated_stream*>(cookie);
  const int descriptor = closed->descriptor;
  std::erase(streams(), closed);
  give_memory(closed, sizeof(*closed));
  return ::close(descriptor);
}

/// Returns the mode of fopen without the letters that only affect how the file is opened.
auto plain_mode(std::string_view mode) -> std::array<char, 3> {
  return {mode.empty() ? 'r' : mode.front(), mode.contains('+') ? '+' : '\0', '\0'};
}

auto open_flags(std::string_view mode) -> int {
  const bool updates = mode.contains('+');
  int flags = updates ? O_RDWR : mode.starts_with('r') ? O_RDONLY : O_WRONLY;
  if (mode.starts_with('w')) flags |= O_CREAT | O_TRUNC;
  if (mode.starts_with('a')) flags |= O_CREAT | O_APPEND;
  if (mode.contains('x')) flags |= O_EXCL;
  if (mode.contains('e')) flags |= O_CLOEXEC;
  return flags;
}

}  // namespace

SIM_CALL(FILE*, fdopen, int descriptor, const char* mode) {
  if (!on() || find_object(descriptor) == nullptr) return REAL(fdopen)(descriptor, mode);
  auto* made = new (take_memory(sizeof(simulated_stream))) simulated_stream{descriptor, nullptr};
  const cookie_io_functions_t functions = {.read = read_stream,
                                           .write = write_stream,
                                           .seek = is_disk_file(descriptor) ? seek_stream : nullptr,
                                           .close = close_stream};
  made->stream = ::fopencookie(made, plain_mode(mode).data(), functions);
  streams().push_back(made);
  return made->stream;
}

SIM_CALL(int, fileno, FILE* stream) {
  if (on())
    for (const simulated_stream* each : streams())
      if (each->stream == stream) return each->descriptor;
  return REAL(fileno)(stream);
}

SIM_CALL(int, fileno_unlocked, FILE* stream) { return sim_fileno(stream); }

auto open_stream(const char* path, const char* mode) -> FILE* {
  const int opened = open_on_disk(AT_FDCWD, path, open_flags(mode), 0666);
  if (opened < 0) return nullptr;
  FILE* made = ::fdopen(opened, mode);
  if (made == nullptr) ::close(opened);
  return made;
}

}  // namespace sim
