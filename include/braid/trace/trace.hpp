// braid/trace/trace.hpp: a program's own slices, marks and counters in a trace of the process.
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

/// Name of a slice, a mark or a counter: a string literal, or what `intern` gives. The characters must stay where they
/// are until the trace is complete: a library that is unloaded before interns its names.
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

/// A name that is made while the program runs. Equal texts give the same name; it is kept until the process ends.
/// Threads: any. Blocks: for a lock. Errors: std::bad_alloc.
[[nodiscard]] BRAID_API auto intern(std::string_view text) -> name;

/// Whether the process is traced: for what is only computed to be shown. Threads: any. Cost: a load.
[[nodiscard]] inline auto is_on() noexcept -> bool { return detail::is_traced(); }

/// A slice of the calling thread, from here to the end of the object. Slices of a thread nest, so that a span does not
/// stay open across a `co_await`: between two, the thread runs other tasks.
/// Threads: begins and ends on the same one. Blocks: never, after the first event of the thread.
/// Cost: a load where nothing is traced; else a reading of the time-stamp counter for each end.
class [[nodiscard]] span {
 public:
  explicit span(name of) noexcept : slice_(detail::trace_group::user, of.text()) {}

 private:
  detail::trace_slice slice_;
};

/// Something that goes on across waits and threads: a track of its own with that name, from here to the end of the
/// object. Its first slice is called `running`; `is_now` begins the next one.
/// Threads: one at a time; it may end on another than it began on. Blocks: for a lock, at its begin, where the process
/// is traced. Cost: a load where nothing is traced; else a copy of the name, and as half a span for each slice.
class [[nodiscard]] activity {
 public:
  /// None: nothing is shown.
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

  /// What it does from now on.
  void is_now(name of) const noexcept {
    if (number_ != 0) [[unlikely]]
      detail::trace_note(detail::trace_group::user, detail::trace_kind::task_waits, number_,
                         detail::trace_number(of.text()));
  }

 private:
  std::uint64_t number_ = 0;
};

/// A point in time on the calling thread. Threads: any. Cost: as half a span.
inline void mark(name of) noexcept { detail::trace_mark(detail::trace_group::user, of.text()); }

/// Asks for a file of the last seconds, where `BRAID_TRACE=FILE,last=8s` keeps them: FILE.1, FILE.2, up to FILE.10. The
/// calling thread does not wait for it. What is asked for while the last file's seconds are not over is left out, as
/// that file shows how it began. False where nothing is kept, so that it may be called in any program.
/// Threads: any. Blocks: for a lock. Cost: a load where nothing is traced.
inline auto save(std::string_view reason) noexcept -> bool { return is_on() && detail::trace_save(reason); }

/// The last seconds as the bytes of a file, where `BRAID_TRACE=FILE,last=8s` keeps them: `span` of them, or as many as
/// are kept. What was under way before is there with its true begin. Threads: any but a loop's, which it would hold up.
/// Blocks: until the writer has made it, up to a second for a hundred megabytes. Errors: std::errc::not_supported where
/// nothing is kept; errc::closed at the end of the process; std::bad_alloc.
[[nodiscard]] BRAID_API auto last(duration span) -> result<std::string>;

/// The value of a counter from now on. It has a track of its own. Threads: any. Cost: as half a span.
inline void counter(name of, std::int64_t value) noexcept {
  if (is_on()) [[unlikely]]
    detail::trace_note(detail::trace_group::user, detail::trace_kind::counter, detail::trace_number(of.text()),
                       static_cast<std::uint64_t>(value));
}

}  // namespace braid::trace
