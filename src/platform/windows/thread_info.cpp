// src/platform/windows/thread_info.cpp: finds threads by their ids, and verifies that an id still belongs to the same
// thread.
#include <braid/thread/this_thread.hpp>

#include "../../thread/thread_calls.hpp"
#include "../system.hpp"
#include "calls.hpp"

#include <algorithm>
#include <array>
#include <ratio>
#include <string>
#include <utility>

#include <tlhelp32.h>

// The headers of mingw-w64 10 do not declare these functions of Windows 10, but its import library contains them.
extern "C" __declspec(dllimport) HRESULT __stdcall GetThreadDescription(HANDLE thread, PWSTR* text);
extern "C" __declspec(dllimport) HRESULT __stdcall SetThreadDescription(HANDLE thread, PCWSTR text);

namespace braid {
namespace {

using detail::owned_handle;

auto no_such_thread() { return fail(std::make_error_code(std::errc::no_such_process)); }

/// An open thread and its start time.
struct opened_thread {
  owned_handle handle;
  std::uint64_t start_ticks = 0;
};

auto has_ended(void* thread) noexcept -> bool { return ::WaitForSingleObject(thread, 0) == WAIT_OBJECT_0; }

auto open(::pid_t id) -> result<opened_thread> {
  auto handle = detail::open_thread(THREAD_QUERY_INFORMATION | THREAD_SET_INFORMATION | SYNCHRONIZE, id);
  if (!handle) return fail(handle.error());
  if (has_ended(handle->get())) return no_such_thread();
  FILETIME created{};
  FILETIME ended{};
  FILETIME kernel{};
  FILETIME user{};
  if (::GetThreadTimes(handle->get(), &created, &ended, &kernel, &user) == 0) return fail(detail::last_windows_error());
  const auto unit = static_cast<std::int64_t>(std::nano::den / detail::start_ticks_per_second());
  const auto ticks = std::max<std::int64_t>(detail::since_boot(created).count() / unit, 0);
  return opened_thread{std::move(*handle), static_cast<std::uint64_t>(ticks)};
}

/// Opens this thread. Fails if the id now belongs to another thread.
auto open(const thread_info& thread) -> result<owned_handle> {
  auto found = open(thread.id());
  if (!found) return fail(found.error());
  if (found->start_ticks != thread.start_ticks()) return no_such_thread();
  return std::move(found->handle);
}

/// Returns the result of a call for an open thread. If the call has failed and the thread has ended in the meantime,
/// returns no_such_process instead, because Windows reports various errors for this case.
template <typename T>
auto outcome_for(void* thread, result<T> done) -> result<T> {
  if (!done && has_ended(thread)) return no_such_thread();
  return done;
}

/// Returns `call(id)` while the thread is open, so that the id cannot belong to another thread.
template <typename Call>
auto with(const thread_info& thread, Call call) -> decltype(call(thread.id())) {
  const auto opened = open(thread);
  if (!opened) return fail(opened.error());
  return outcome_for(opened->get(), call(thread.id()));
}

/// The next two functions convert between UTF-8 and UTF-16, the encoding of Windows.
auto wide(std::string_view text) -> std::wstring {
  const auto bytes = static_cast<int>(text.size());
  std::wstring made(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0)), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, made.data(), static_cast<int>(made.size()));
  return made;
}

auto narrow(std::wstring_view text) -> std::string {
  const auto count = static_cast<int>(text.size());
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), count, nullptr, 0, nullptr, nullptr);
  std::string made(static_cast<std::size_t>(size), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), count, made.data(), size, nullptr, nullptr);
  return made;
}

auto read_name(void* thread) -> result<std::string> {
  wchar_t* text = nullptr;
  if (::GetThreadDescription(thread, &text) < 0 || text == nullptr)
    return fail(std::make_error_code(std::errc::operation_not_supported));
  std::string name = narrow(text);
  ::LocalFree(text);
  return name;
}

auto write_name(void* thread, std::string_view name) -> result<void> {
  if (::SetThreadDescription(thread, wide(name).c_str()) < 0)
    return fail(std::make_error_code(std::errc::operation_not_supported));
  return {};
}

}  // namespace

auto thread_info::of(::pid_t id) -> result<thread_info> {
  const auto found = open(id);
  if (!found) return fail(found.error());
  return thread_info(id, found->start_ticks);
}

auto thread_info::is_alive() const -> bool { return open(*this).has_value(); }

auto thread_info::name() const -> result<std::string> {
  const auto opened = open(*this);
  if (!opened) return fail(opened.error());
  return outcome_for(opened->get(), read_name(opened->get()));
}

auto thread_info::set_name(std::string_view name) const -> result<void> {
  if (const auto fits = detail::check_name(name); !fits) return fits;
  const auto opened = open(*this);
  if (!opened) return fail(opened.error());
  return outcome_for(opened->get(), write_name(opened->get(), name));
}

auto thread_info::affinity() const -> result<cpu_set> { return with(*this, detail::read_affinity); }

auto thread_info::set_affinity(const cpu_set& cpus) const -> result<void> {
  return with(*this, [&cpus](::pid_t id) { return detail::write_affinity(id, cpus); });
}

auto thread_info::scheduling() const -> result<braid::scheduling> { return with(*this, detail::read_scheduling); }

auto thread_info::set_scheduling(const braid::scheduling& wanted) const -> result<void> {
  return with(*this, [&wanted](::pid_t id) { return detail::write_scheduling(id, wanted); });
}

auto thread_info::nice() const -> result<nice_value> { return with(*this, detail::read_nice); }

auto thread_info::set_nice(nice_value wanted) const -> result<void> {
  return with(*this, [wanted](::pid_t id) { return detail::write_nice(id, wanted); });
}

auto thread_info::priority() const -> result<realtime_priority> { return with(*this, detail::read_priority); }

auto thread_info::set_priority(realtime_priority wanted) const -> result<void> {
  return with(*this, [wanted](::pid_t id) { return detail::write_priority(id, wanted); });
}

auto thread_info::all() -> result<std::vector<thread_info>> {
  const owned_handle snapshot(::CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0));
  if (snapshot.get() == INVALID_HANDLE_VALUE) return fail(detail::last_windows_error());
  std::vector<thread_info> threads;
  THREADENTRY32 entry{};
  entry.dwSize = sizeof(entry);
  for (BOOL more = ::Thread32First(snapshot.get(), &entry); more != 0; more = ::Thread32Next(snapshot.get(), &entry)) {
    if (entry.th32OwnerProcessID != ::GetCurrentProcessId()) continue;
    const auto thread = thread_info::of(static_cast<::pid_t>(entry.th32ThreadID));
    if (thread) threads.push_back(*thread);  // the others have ended meanwhile
  }
  std::ranges::sort(threads, {}, [](const thread_info& each) { return std::pair(each.start_ticks(), each.id()); });
  return threads;
}

auto this_thread::info() -> result<thread_info> { return thread_info::of(detail::own_thread_id()); }

auto detail::write_own_name(std::string_view name) -> result<void> { return write_name(::GetCurrentThread(), name); }

void detail::copy_own_name(char* text, std::size_t size) noexcept {
  if (size == 0) return;
  text[0] = '\0';
  try {
    const auto name = read_name(::GetCurrentThread());
    if (!name) return;
    const std::size_t length = std::min(name->size(), size - 1);
    std::copy_n(name->data(), length, text);
    text[length] = '\0';
  } catch (...) {  // without memory, the name is empty
  }
}

}  // namespace braid
