// rankd/server/metrics/process_metrics.cpp: reads the metrics of this process from the operating system.
#include <rankd/server/metrics/serve_metrics.hpp>

#include <chrono>
#include <fstream>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rankd {
namespace {

using kind = exposition::kind;

auto to_seconds(const ::timeval& time) -> double {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// The memory that the process uses, and the size of its address space, in bytes.
struct memory_sizes {
  double resident = 0;
  double addresses = 0;
};

auto memory_of_process() -> memory_sizes {
  std::ifstream in("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  if (!(in >> pages >> resident)) return {};
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {.resident = resident * page, .addresses = pages * page};
}

/// Counts the open descriptors. Does not use std::filesystem::directory_iterator, which ends the process if an
/// allocation fails.
auto open_descriptors() -> double {
  ::DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  constexpr double others = 3;  // `.`, `..`, and the descriptor that reads the folder
  double count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count - others;
}

/// The approximate time when this process started.
const double process_start = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

}  // namespace

void write_process_metrics(exposition& out) {
  ::rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  out.family("process_cpu_seconds_total", kind::counter, "Processor time of this process.");
  out.sample({}, to_seconds(used.ru_utime) + to_seconds(used.ru_stime));
  const memory_sizes memory = memory_of_process();
  out.family("process_resident_memory_bytes", kind::gauge, "Memory in use.");
  out.sample({}, memory.resident);
  out.family("process_virtual_memory_bytes", kind::gauge, "Addresses in use.");
  out.sample({}, memory.addresses);
  out.family("process_open_fds", kind::gauge, "Open descriptors.");
  out.sample({}, open_descriptors());
  out.family("process_start_time_seconds", kind::gauge, "When the process began, in seconds since 1970.");
  out.sample({}, process_start);
}

}  // namespace rankd
