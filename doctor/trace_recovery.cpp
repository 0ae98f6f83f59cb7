// doctor/trace_recovery.cpp: appends the records of the ring file to the trace of a killed program.
#include <doctor/escape.hpp>
#include <doctor/trace_file.hpp>
#include <doctor/trace_recovery.hpp>

#include <braid/base/detail/counted.hpp>
#include <braid/io/backend.hpp>
#include <braid/trace/detail/recovery.hpp>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace braid::doctor {
namespace {

[[noreturn]] void fail_at(const std::string& path) { throw std::system_error(errno, std::generic_category(), path); }

/// Opens and locks a trace. Throws if a process is still writing the trace, because that process holds the lock.
auto locked(const std::string& file) -> descriptor {
  descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) fail_at(file);
  if (::flock(opened.number(), LOCK_EX | LOCK_NB) != 0)
    throw std::runtime_error(file + " is still being written by its process");
  return opened;
}

/// Writes a file under a temporary name and renames it, so that the file is either complete or unchanged.
void write_anew(const std::string& file, std::string_view first, std::string_view second) {
  const std::string unfinished = file + ".part";
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  out << first << second;
  out.close();
  if (out && ::rename(unfinished.c_str(), file.c_str()) == 0) return;
  const int error = errno;
  ::unlink(unfinished.c_str());
  errno = error;
  fail_at(unfinished);
}

auto open_states(const trace_file& trace) -> std::unordered_map<std::uint64_t, std::int64_t> {
  std::unordered_map<std::uint64_t, std::int64_t> open;
  for (const auto& [number, track] : trace.tracks) open.emplace(number, track.open);
  return open;
}

}  // namespace

auto recover_trace(const std::string& file) -> std::string {
  const std::string rings_file = file + ".rings";
  const auto rings = detail::left_rings::read(rings_file);
  if (!rings) throw std::runtime_error(rings.error());
  const descriptor lock = locked(file);
  const std::string bytes = read_trace(file);
  const bool is_same = bytes.empty() || bytes.starts_with(rings->first_packet());  // empty: it was killed early
  if (bytes.size() < rings->trace_bytes() || !is_same)
    throw std::runtime_error(rings_file + " does not belong to the process that has written " + file);
  const std::string_view written = std::string_view(bytes).substr(0, rings->trace_bytes());
  const trace_file trace = parse_trace(written);
  if (trace.is_cut)
    throw std::runtime_error(file + " is damaged: its last packet is incomplete, so " + rings_file +
                             " cannot continue it");
  const detail::recovered_part more = rings->rest(open_states(trace), &escaped);
  write_anew(file, written, more.bytes);
  ::unlink(rings_file.c_str());
  return file + ": " + braid::detail::counted(more.records, "record") + " of " +
         braid::detail::counted(more.threads, "thread") + " recovered, " + std::to_string(more.lost) + " lost";
}

}  // namespace braid::doctor
