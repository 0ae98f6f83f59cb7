// sim/report.cpp: reports why a run ended, what each thread waits for, and the last switches between threads.
#include <sim/real.hpp>
#include <sim/scheduler.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <span>

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace sim {
namespace {

const link_map* own_map = nullptr;
std::array<char, 4096> program{};  // the loader gives it no name

__attribute__((format(printf, 1, 2))) void print(const char* format, ...) {
  const std::size_t room = page->report.size() - page->report_size;
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(page->report.data() + page->report_size, room, format, arguments);
  va_end(arguments);
  page->report_size +=
      static_cast<std::uint32_t>(std::clamp<std::size_t>(static_cast<std::size_t>(length), 0, room - 1));
}

auto find_map(const void* address) -> const link_map* {
  Dl_info found{};
  link_map* map = nullptr;
  if (::dladdr1(address, &found, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return nullptr;
  return map;
}

/// Returns the stack frames of the program's own functions. Leaves out the simulator's frames, which are above them.
auto program_frames(std::span<void* const> frames) -> std::span<void* const> {
  std::size_t first = 0;
  for (std::size_t at = 0; at < std::min<std::size_t>(frames.size(), 12); ++at)
    if (find_map(frames[at]) == own_map) first = at + 1;
  return frames.subspan(first);
}

void print_stack(std::span<void* const> frames) {
  for (void* frame : program_frames(frames)) {
    const link_map* map = find_map(static_cast<char*>(frame) - 1);
    const std::uintptr_t base = map == nullptr ? 0 : map->l_addr;
    const char* file = map == nullptr ? "?" : *map->l_name == '\0' ? program.data() : map->l_name;
    print("\1%s\2%lx\n", file, reinterpret_cast<std::uintptr_t>(frame) - 1 - base);
  }
}

void print_name(const thread& shown) {
  print("thread %u", shown.id);
  if (shown.name[0] != '\0') print(" \"%s\"", shown.name.data());
}

void print_owner(std::int32_t kernel_id) {
  for_each_thread([&](const thread& each) {
    if (kernel_id != 0 && each.kernel_id.load(std::memory_order_relaxed) == kernel_id)
      print(", which thread %u holds", each.id);
  });
}

void print_wait(const thread& shown) {
  const wait& waits = shown.waits;
  switch (waits.kind) {
    case call::mutex_lock:
      print(" waits for the mutex %p", waits.address);
      print_owner(static_cast<const pthread_mutex_t*>(waits.address)->__data.__owner);
      break;
    case call::condition_wait: print(" waits for the condition variable %p", waits.address); break;
    case call::thread_join:
      print(" waits for the end of thread %u", static_cast<const thread*>(waits.address)->id);
      break;
    case call::sleep: print(" sleeps"); break;
    case call::futex_wait: print(" waits for the futex %p", waits.address); break;
    default: print(" waits: %s", name(waits.kind));
  }
  for (nfds_t at = 0; at < waits.descriptor_count; ++at)
    print("%s descriptor %d", at == 0 ? " of" : ",", waits.descriptors[at].fd);
  if (waits.deadline != never) print(" until %.6f s", static_cast<double>(waits.deadline - start_time) / second);
  print("\n");
}

void print_thread(const thread& shown) {
  print_name(shown);
  if (shown.is == state::blocked) {
    print_wait(shown);
  } else {
    print(&shown == self ? " runs\n" : " can run\n");
  }
  const int count = shown.frame_count.load(std::memory_order_acquire);
  if (count > 0) print_stack(std::span(shown.frames).first(static_cast<std::size_t>(count)));
}

/// Each frame is a return address, and belongs to the call before that address. One frame is different: if a signal
/// interrupted the thread, the frame at that point is the address of the next instruction, which may be the first
/// instruction of its function. That address is stored plus one byte, so that it looks like a return address.
void keep_stack(thread& shown) {
  const int count = ::backtrace(shown.frames.data(), max_frames);
  const auto frames = std::span(shown.frames).first(static_cast<std::size_t>(count));
  const auto interrupted = std::ranges::find(frames, shown.interrupted_at);
  if (interrupted != frames.end() && *interrupted != nullptr) *interrupted = static_cast<char*>(*interrupted) + 1;
  shown.frame_count.store(count, std::memory_order_release);
}

/// Stores the stack of the calling thread. This is the signal handler of threads that wait for the token.
void answer() {
  const int error = errno;
  if (self != nullptr) {
    keep_stack(*self);
    self->interrupted_at = nullptr;
  }
  errno = error;
}

/// Handles a signal. If the signal comes from braid-sim, reports that the running thread is stuck, and ends the
/// process. Otherwise stores the stack of the thread.
void answer_or_report(int /*signal*/, siginfo_t* info, void* context) {
  const bool is_asked = info->si_pid != static_cast<pid_t>(kernel(SYS_getpid));
  if (self != nullptr) self->interrupted_at = instruction(context);
  if (self == nullptr || !is_asked) return answer();
  if (page->asked.load(std::memory_order_relaxed) == question::end_of_world)
    report_and_exit("the world has ended, but this program still runs; its `must_end` requires it to end earlier");
  report_and_exit(
      "a thread has run for too long without a call that the simulator intercepts: the thread spins, or waits in a "
      "call that the simulator does not support");
}

void ask_for_stacks() {
  for_each_thread([](thread& each) {
    each.frame_count.store(-1, std::memory_order_relaxed);
    if (&each == self) return keep_stack(each);
    kernel(SYS_tgkill, kernel(SYS_getpid), kernel_id(each), stack_signal);
  });
  for (int attempt = 0; attempt < 20'000; ++attempt) {
    bool all = true;
    for_each_thread([&](const thread& each) { all = all && each.frame_count.load(std::memory_order_acquire) >= 0; });
    if (all) return;
    const timespec moment{0, 1'000'000};
    kernel(SYS_nanosleep, reinterpret_cast<long>(&moment));
  }
}

void print_last_switches() {
  const std::uint64_t end = page->switches.load(std::memory_order_relaxed);
  const std::uint64_t first = end > last_switch_count ? end - last_switch_count : 0;
  if (end > 0) print("the last switches:\n");
  for (std::uint64_t at = first; at < end; ++at) {
    const last_switch& shown = last_switches[at % last_switch_count];
    print("%8lu  %12.6f s  thread %u: %s%s\n", at, static_cast<double>(shown.what.time) / second, shown.what.thread,
          name(shown.what.kind), shown.what.is_wait != 0 ? ", waits" : "");
    print_stack(std::span(shown.frames).first(std::min<std::size_t>(static_cast<std::size_t>(shown.frame_count), 8)));
  }
}

}  // namespace

void write_report(const char* sentence) {
  if (page->report_size != 0) return;
  ++self->depth;
  print("%s\n", sentence);
  ask_for_stacks();
  for_each_thread([](const thread& each) { print_thread(each); });
  print_last_switches();
  --self->depth;
}

void report_and_exit(const char* sentence) {
  write_report(sentence);
  kernel(SYS_exit_group, ended_status);
  __builtin_unreachable();
}

void refuse(const char* call_name, const char* reason) {
  std::array<char, 300> sentence{};
  std::snprintf(sentence.data(), sentence.size(), "the program called %s, which the simulator does not support: %s",
                call_name, reason);
  report_and_exit(sentence.data());
}

void prepare_reports() {
  kernel(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"), reinterpret_cast<long>(program.data()),
         static_cast<long>(program.size() - 1));
  own_map = find_map(reinterpret_cast<const void*>(&prepare_reports));
  install_handlers(&answer_or_report);
}

void prepare_stacks() {
  std::array<void*, 2> frames{};
  ::backtrace(frames.data(), frames.size());
}

}  // namespace sim
