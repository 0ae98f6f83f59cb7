// tests/support/system_threads.hpp: what the system says of the threads of this process.
#pragma once

#include <braid/sync/atomic.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace braid::testing {

inline auto own_thread_number() -> int { return ::gettid(); }

/// Sleeps of this thread end when they are to, and not up to 50 µs later. Where that is permitted it goes ahead of all
/// that competes for the processor, so that only the machine itself can make it late.
inline void wake_precisely() {
  ::prctl(PR_SET_TIMERSLACK, 1);
  const ::sched_param lowest{.sched_priority = 1};
  static_cast<void>(::sched_setscheduler(0, SCHED_FIFO, &lowest));
}

inline auto allowed_processors() -> std::vector<int> {
  ::cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> all;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &allowed)) all.push_back(i);
  return all;
}

inline void stay_on(int processor) {
  ::cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// The numbers of the threads called `prefix`, a dash and a number.
inline auto threads_of_process(std::string_view prefix) -> std::vector<int> {
  std::vector<int> all;
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::string name;
    std::ifstream(each.path() / "comm") >> name;
    const bool is_one = name.starts_with(prefix) && name.size() > prefix.size() + 1 &&
                        name.find_first_not_of("0123456789", prefix.size() + 1) == std::string::npos;
    if (is_one) all.push_back(std::atoi(each.path().filename().c_str()));
  }
  return all;
}

/// What the scheduler of the system knows of a thread.
struct thread_times {
  char state = '?';                    ///< as in /proc/…/stat: S for one that sleeps, R for one that runs or could
  std::chrono::nanoseconds waited{0};  ///< for a processor
  std::uint64_t slices = 0;            ///< how often it was given one
};

/// Reads them, again and again.
class thread_account {
 public:
  explicit thread_account(int number)
      : number_(number), stat_(open(number, "stat")), schedule_(open(number, "schedstat")) {}
  thread_account(const thread_account&) = delete;
  auto operator=(const thread_account&) -> thread_account& = delete;
  thread_account(thread_account&& other) noexcept
      : number_(other.number_), stat_(std::exchange(other.stat_, -1)), schedule_(std::exchange(other.schedule_, -1)) {}
  auto operator=(thread_account&& other) noexcept -> thread_account& {
    std::swap(number_, other.number_);
    std::swap(stat_, other.stat_);
    std::swap(schedule_, other.schedule_);
    return *this;
  }
  ~thread_account() {
    ::close(stat_);
    ::close(schedule_);
  }

  [[nodiscard]] auto number() const -> int { return number_; }

  /// False from the first read on that finds that the thread has ended.
  [[nodiscard]] auto is_there() const -> bool { return is_there_; }

  auto read() -> thread_times {
    thread_times times;
    std::array<char, 256> text{};
    const std::string_view stat = text_of(stat_, text);
    if (const std::size_t name_end = stat.rfind(')'); name_end + 2 < stat.size()) times.state = stat[name_end + 2];
    const std::string_view schedule = text_of(schedule_, text);
    std::uint64_t ran = 0;
    std::int64_t waited = 0;
    const char* at = number_at(schedule.data(), schedule.end(), ran);
    at = number_at(at, schedule.end(), waited);
    number_at(at, schedule.end(), times.slices);
    times.waited = std::chrono::nanoseconds(waited);
    return times;
  }

 private:
  static auto open(int number, const char* file) -> int {
    const std::string path = "/proc/self/task/" + std::to_string(number) + "/" + file;
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }

  auto text_of(int file, std::array<char, 256>& text) -> std::string_view {
    const ssize_t length = ::pread(file, text.data(), text.size(), 0);
    is_there_ = is_there_ && length > 0;
    return {text.data(), static_cast<std::size_t>(length > 0 ? length : 0)};
  }

  template <typename Number>
  static auto number_at(const char* at, const char* end, Number& value) -> const char* {
    while (at != end && *at == ' ') ++at;
    return std::from_chars(at, end, value).ptr;
  }

  int number_;
  int stat_;
  int schedule_;
  bool is_there_ = true;
};

/// Whether a thread is at work: a count that is odd while it is. Anybody reads it.
struct work_mark {
  atomic<int> thread{0};             // whose it is; 0: nobody's. Written by its thread, at its begin and end
  atomic<std::uint64_t> changes{0};  // written by its thread
  void begin() { changes.fetch_add(1, relaxed); }
  void end() { changes.fetch_add(1, relaxed); }
};

inline auto all_marks() -> std::array<work_mark, 512>& {
  static std::array<work_mark, 512> marks;
  return marks;
}

/// The mark of the calling thread, for as long as the thread lives. Requires that fewer than 512 threads have one.
inline auto own_mark() -> work_mark& {
  struct holder {
    work_mark* mark = nullptr;
    holder() {
      const int self = own_thread_number();
      for (work_mark& each : all_marks()) {
        int nobody = 0;
        if (!each.thread.compare_exchange_strong(nobody, self, acq_rel, relaxed))
          continue;  // edge work_mark.owner: both
        mark = &each;
        return;
      }
      std::abort();
    }
    holder(const holder&) = delete;
    auto operator=(const holder&) -> holder& = delete;
    ~holder() { mark->thread.store(0, release); }  // edge work_mark.owner: publish
  };
  thread_local holder own;
  return *own.mark;
}

/// The count of a thread; 0 if it has none.
inline auto marks_of(int thread) -> std::uint64_t {
  for (const work_mark& each : all_marks())
    if (each.thread.load(relaxed) == thread) return each.changes.load(relaxed);
  return 0;
}

}  // namespace braid::testing
