// src/platform/linux/thread_info.cpp: finds threads in /proc, and verifies that an id still belongs to the same thread.
#include <braid/thread/this_thread.hpp>

#include "../../thread/thread_calls.hpp"
#include "../system.hpp"
#include "../posix/owned_descriptor.hpp"

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace braid {
namespace {

using detail::owned_descriptor;

auto no_such_thread() { return fail(std::make_error_code(std::errc::no_such_process)); }

/// Returns the last system error. If a thread's file is missing although /proc is mounted, the thread has ended, and
/// the error is no_such_process.
auto file_error() -> std::unexpected<std::error_code> {
  const std::error_code error = last_system_error();
  if (error == std::errc::no_such_file_or_directory && ::access("/proc/self/stat", F_OK) == 0) return no_such_thread();
  return fail(error);
}

/// The open folder of a thread in /proc. The files of this folder belong to that thread even if the system reuses the
/// id. After the thread's end, the files cannot be read.
class thread_folder {
 public:
  static auto open(::pid_t id) -> result<thread_folder> {
    for (const char* parent : {"/proc/self/task/", "/proc/"}) {
      owned_descriptor folder(::open((parent + std::to_string(id)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (folder.is_open()) return thread_folder(std::move(folder));
    }
    return file_error();
  }

  [[nodiscard]] auto read(const char* name) const -> result<std::string> {
    const owned_descriptor file(::openat(folder_.number(), name, O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return file_error();
    std::array<char, 2048> buffer{};
    const ::ssize_t size = ::read(file.number(), buffer.data(), buffer.size());
    if (size < 0) return fail(last_system_error());
    return std::string(buffer.data(), static_cast<std::size_t>(size));
  }

  [[nodiscard]] auto write(const char* name, std::string_view text) const -> result<void> {
    const owned_descriptor file(::openat(folder_.number(), name, O_WRONLY | O_CLOEXEC));
    if (!file.is_open()) return file_error();
    if (::write(file.number(), text.data(), text.size()) < 0) return fail(last_system_error());
    return {};
  }

 private:
  explicit thread_folder(owned_descriptor folder) noexcept : folder_(std::move(folder)) {}

  owned_descriptor folder_;
};

/// Returns the field with this index of the text `stat`. The field with index 0 is the state of the thread.
auto stat_field(std::string_view stat, int number) -> std::string_view {
  for (; number > 0; --number) stat.remove_prefix(std::min(stat.find(' '), stat.size() - 1) + 1);
  return stat.substr(0, stat.find(' '));
}

/// Parses the start time of a thread from the text of its file `stat`. The second field, the thread's name, may contain
/// any character. Returns nothing for a thread that has ended or is exiting. A joined thread is still listed for a
/// moment, but is marked as exiting.
auto start_in(std::string_view stat) -> std::optional<std::uint64_t> {
  constexpr int flags_field = 6;
  constexpr int start_field = 19;
  constexpr std::uint64_t exiting = 0x4;  // PF_EXITING of the kernel
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return std::nullopt;
  stat.remove_prefix(name_end + 2);
  if (stat.front() == 'Z' || stat.front() == 'X') return std::nullopt;
  if (detail::number_in<std::uint64_t>(stat_field(stat, flags_field)).value_or(exiting) & exiting) return std::nullopt;
  return detail::number_in<std::uint64_t>(stat_field(stat, start_field));
}

auto read_start(const thread_folder& folder) -> result<std::uint64_t> {
  const auto stat = folder.read("stat");
  if (!stat) return fail(stat.error());
  const auto ticks = start_in(*stat);
  if (!ticks) return no_such_thread();
  return *ticks;
}

/// Opens the folder of this thread in /proc. Fails if the id now belongs to another thread.
auto find_folder(const thread_info& thread) -> result<thread_folder> {
  auto folder = thread_folder::open(thread.id());
  if (!folder) return folder;
  const auto ticks = read_start(*folder);
  if (!ticks) return fail(ticks.error());
  if (*ticks != thread.start_ticks()) return no_such_thread();
  return folder;
}

/// Returns `read(id)`. Checks after the call that the id still belongs to this thread, so that the result belongs to
/// this thread, too.
template <typename Read>
auto answer(const thread_info& thread, Read read) -> decltype(read(thread.id())) {
  auto value = read(thread.id());
  if (const auto still = find_folder(thread); !still) return fail(still.error());
  return value;
}

/// Returns `change(id)`. Checks directly before the call that the id belongs to this thread.
template <typename Change>
auto command(const thread_info& thread, Change change) -> result<void> {
  if (const auto alive = find_folder(thread); !alive) return fail(alive.error());
  return change(thread.id());
}

}  // namespace

auto thread_info::of(::pid_t id) -> result<thread_info> {
  const auto folder = thread_folder::open(id);
  if (!folder) return fail(folder.error());
  const auto ticks = read_start(*folder);
  if (!ticks) return fail(ticks.error());
  return thread_info(id, *ticks);
}

auto thread_info::is_alive() const -> bool { return find_folder(*this).has_value(); }

auto thread_info::name() const -> result<std::string> {
  const auto folder = find_folder(*this);
  if (!folder) return fail(folder.error());
  auto text = folder->read("comm");
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

auto thread_info::set_name(std::string_view name) const -> result<void> {
  if (const auto fits = detail::check_name(name); !fits) return fits;
  const auto folder = find_folder(*this);
  if (!folder) return fail(folder.error());
  return folder->write("comm", name);
}

auto thread_info::affinity() const -> result<cpu_set> { return answer(*this, detail::read_affinity); }

auto thread_info::set_affinity(const cpu_set& cpus) const -> result<void> {
  return command(*this, [&cpus](::pid_t id) { return detail::write_affinity(id, cpus); });
}

auto thread_info::scheduling() const -> result<braid::scheduling> { return answer(*this, detail::read_scheduling); }

auto thread_info::set_scheduling(const braid::scheduling& wanted) const -> result<void> {
  return command(*this, [&wanted](::pid_t id) { return detail::write_scheduling(id, wanted); });
}

auto thread_info::nice() const -> result<nice_value> { return answer(*this, detail::read_nice); }

auto thread_info::set_nice(nice_value wanted) const -> result<void> {
  return command(*this, [wanted](::pid_t id) { return detail::write_nice(id, wanted); });
}

auto thread_info::priority() const -> result<realtime_priority> { return answer(*this, detail::read_priority); }

auto thread_info::set_priority(realtime_priority wanted) const -> result<void> {
  return command(*this, [wanted](::pid_t id) { return detail::write_priority(id, wanted); });
}

auto thread_info::all() -> result<std::vector<thread_info>> {
  const std::unique_ptr<::DIR, decltype([](::DIR* open) { ::closedir(open); })> folder(::opendir("/proc/self/task"));
  if (!folder) return fail(last_system_error());
  std::vector<thread_info> threads;
  while (const ::dirent* entry = ::readdir(folder.get())) {
    const std::string_view text = entry->d_name;
    ::pid_t id = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), id).ec != std::errc()) continue;
    if (const auto thread = thread_info::of(id)) threads.push_back(*thread);  // the others have ended meanwhile
  }
  std::ranges::sort(threads, {}, [](const thread_info& each) { return std::pair(each.start_ticks(), each.id()); });
  return threads;
}

auto this_thread::info() -> result<thread_info> { return thread_info::of(detail::own_thread_id()); }

}  // namespace braid
