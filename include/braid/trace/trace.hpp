// braid/trace/trace.hpp: adds a program's own slices, marks and counters to a trace of the process.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/trace/detail/hooks.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace braid::trace {

/// The name of a slice, a mark or a counter: a string literal, or a name that `intern` returned. The characters must
/// exist until the trace is complete, so a library that may be unloaded must intern its names.
class name {
 public:
  consteval name(const char* literal) noexcept : text_(literal) {}  // NOLINT: a literal is a name

  [[nodiscard]] auto text() const noexcept -> const char* { return text_; }

 private:
  struct interned {};
  name(interned /*kind*/, const char* text) noexcept : text_(text) {}
  friend auto intern(std::string_view text) -> name;

  const char* text_;
};

/// Returns a name for a string that is created at run time. Equal strings get the same name. The name is kept until the
/// process ends. Threads: any. Blocks: for a lock. Errors: std::bad_alloc.
[[nodiscard]] BRAID_API auto intern(std::string_view text) -> name;

/// Returns whether the process is traced. Use it to skip the computation of values that are only shown in a trace.
/// Threads: any. Cost: a load.
[[nodiscard]] inline auto is_on() noexcept -> bool { return detail::is_traced(); }

/// A slice (a named span of time) of the calling thread. It lasts from the construction to the destruction of the
/// object. Slices of a thread are nested, so do not keep a span open across a `co_await`: the thread runs other tasks
/// during the wait. Threads: the span must be destroyed on the thread that created it. Blocks: never, after the first
/// event of the thread. Cost: a load if the process is not traced; otherwise a read of the time-stamp counter at each
/// end.
class [[nodiscard]] span {
 public:
  explicit span(name label) noexcept : slice_(detail::trace_group::user, label.text()) {}

 private:
  detail::trace_slice slice_;
};

/// An activity that extends over waits and threads. It has its own track with the name of the activity, and lasts from
/// the construction to the destruction of the object. Its first slice is called `running`; `is_now` begins the next
/// slice. Threads: one at a time; the activity may end on another thread than the one on which it began. Blocks: for a
/// lock, at its beginning, if the process is traced. Cost: a load if the process is not traced; otherwise a copy of the
/// name, and half the cost of a span for each slice.
class [[nodiscard]] activity {
 public:
  /// Constructs an empty activity, which the trace does not show.
  activity() = default;
  explicit activity(std::string_view name) noexcept {
    if (is_on()) [[unlikely]]
      number_ = detail::trace_activity_begin(name);
  }
  activity(activity&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  auto operator=(activity&& other) noexcept -> activity& {
    std::swap(number_, other.number_);
    return *this;
  }
  ~activity() {
    if (number_ != 0) [[unlikely]]
      detail::trace_note(detail::trace_group::user, detail::trace_kind::task_end, number_);
  }

  /// Ends the current slice and begins a slice with this name.
  void is_now(name label) const noexcept {
    if (number_ != 0) [[unlikely]]
      detail::trace_note(detail::trace_group::user, detail::trace_kind::task_waits, number_,
                         detail::trace_number(label.text()));
  }

 private:
  std::uint64_t number_ = 0;
};

/// Records a mark at the current time on the calling thread. Threads: any. Cost: half that of a span.
inline void mark(name label) noexcept { detail::trace_mark(detail::trace_group::user, label.text()); }

/// Requests a file with the last seconds of the trace, if `BRAID_TRACE=FILE,last=8s` keeps them in memory. The files
/// are FILE.1, FILE.2, up to FILE.10. The calling thread does not wait for the file. The first file shows how a problem
/// began. Therefore, further requests are ignored until the time that a file covers has passed since this request.
/// Returns false if no records are kept, so any program may call this function.
/// Threads: any. Blocks: for a lock. Cost: a load if the process is not traced.
inline auto save(std::string_view reason) noexcept -> bool { return is_on() && detail::trace_save(reason); }

/// Returns the last seconds of the trace as the content of a trace file, if `BRAID_TRACE=FILE,last=8s` keeps them in
/// memory. The content covers the time `span` before the call, or a shorter time if the records do not reach back so
/// far. Slices that began earlier are also included, with their true beginning. Threads: any except the thread of a
/// loop, because the call would block the loop. Blocks: until the writer has created the content, up to a second for a
/// hundred megabytes. Errors: std::errc::not_supported if no records are kept; errc::closed at the end of the process;
/// std::bad_alloc.
[[nodiscard]] BRAID_API auto last(duration span) -> result<std::string>;

/// Sets the value of a counter from now on. The counter has its own track. Threads: any. Cost: half that of a span.
inline void counter(name label, std::int64_t value) noexcept {
  if (is_on()) [[unlikely]]
    detail::trace_note(detail::trace_group::user, detail::trace_kind::counter, detail::trace_number(label.text()),
                       static_cast<std::uint64_t>(value));
}

}  // namespace braid::trace
