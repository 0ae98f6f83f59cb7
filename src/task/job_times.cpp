// src/task/job_times.cpp: samples jobs and measures how long they wait and run.
#include <braid/task/detail/job_times.hpp>

#include <braid/base/random.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace braid {
namespace detail {
namespace {

/// Chooses which posts of a thread are timed. The gaps between timed posts are random, so that they do not coincide
/// with a pattern of the posts.
class post_choice {
 public:
  /// Chooses the next post to be timed. Called when a post is timed.
  void choose_next(time_point now) noexcept {
    const std::int64_t took = std::max<std::int64_t>((now - last_).count(), 1);
    const std::int64_t fitting = gap_ * wanted_gap.count() / took;
    last_ = now;
    owed_ += gap_;
    mean_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(fitting, 1, std::min(2 * mean_, max_mean)));
    gap_ = static_cast<std::uint32_t>(1 + random_.below(2 * mean_ - 1));
    posts_until_timed = static_cast<std::int32_t>(gap_);
  }

  /// Returns the number of posts since the last timed job, which the next timed job will represent.
  [[nodiscard]] auto owed() const noexcept -> std::uint64_t { return owed_; }
  void settle() noexcept { owed_ = 0; }

 private:
  // docs/design/constants.md says what these values rest on.
  static constexpr duration wanted_gap = 250us;
  static constexpr std::uint32_t max_mean = 1024;

  time_point last_{};
  std::uint64_t owed_ = 0;
  std::uint32_t mean_ = 1;
  std::uint32_t gap_ = 1;  // the initial value of `posts_until_timed`
  random_source random_{1};
};

constinit thread_local post_choice choice;

/// The data of a timed job. The posting thread writes these data, and the thread that takes the job out of its queue
/// reads them.
struct post_note {
  job::act_fn act = nullptr;
  job_times* times = nullptr;
  time_point posted{};
  std::uint64_t weight = 0;
};

/// A hash table of all timed jobs of the process. The key is the address of the job. An entry is stored at the position
/// that its hash selects, or a few positions after it.
class note_table {
 public:
  /// Adds an entry for the job. Returns false if there is no free entry.
  auto try_add(job& work, const post_note& note) noexcept -> bool {
    entry* const found = place_for(work);
    if (found == nullptr) return false;
    found->note = note;
    return true;
  }

  [[nodiscard]] auto find(const job& work) noexcept -> post_note& { return find_entry(work)->note; }

  auto take(job& work) noexcept -> post_note {
    entry& found = *find_entry(work);
    const post_note note = found.note;
    // edge job_times.entry: publish, this thread has read the entry before another thread reuses it
    found.key.store(nullptr, release);
    return note;
  }

 private:
  struct entry {
    atomic<const job*> key{nullptr};  // null if free; written by the thread that claims or frees the entry
    post_note note;
  };
  // docs/design/constants.md says what these values rest on.
  static constexpr std::size_t size = 512;
  static constexpr std::size_t places = 8;  // the number of places in which an entry may be

  [[nodiscard]] auto at(const job& work, std::size_t step) noexcept -> entry& {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;  // 2^64 by the golden ratio: Knuth's multiplicative hashing
    const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(&work) * odd;
    return entries_[((hash >> 32U) + step) % size];
  }

  [[nodiscard]] auto find_entry(const job& work) noexcept -> entry* {
    for (std::size_t step = 0; step < places; ++step)
      if (entry& each = at(work, step); each.key.load(relaxed) == &work) return &each;
    return nullptr;
  }

  /// Returns a free entry. Prefers an entry with the same address. Such an entry is left over from an earlier job,
  /// which neither ran nor was dropped, and whose memory was reused.
  [[nodiscard]] auto place_for(const job& work) noexcept -> entry* {
    if (entry* const left = find_entry(work); left != nullptr) return left;
    for (std::size_t step = 0; step < places; ++step) {
      entry& each = at(work, step);
      const job* none = nullptr;
      // edge job_times.entry: observe, another thread has read the previous contents
      if (each.key.load(relaxed) == nullptr && each.key.compare_exchange_strong(none, &work, acquire, relaxed))
        return &each;
    }
    return nullptr;
  }

  std::array<entry, size> entries_{};
};

constinit note_table notes;

}  // namespace

constinit thread_local std::int32_t posts_until_timed __attribute__((tls_model("initial-exec"))) = 1;

void job_times::begin(job& work) noexcept {
  const time_point now = clock_->now();
  choice.choose_next(now);
  if (is_timed(work)) return;  // it was refused by another executor, and is unchanged
  if (!notes.try_add(work, {.act = work.act_, .times = this, .posted = now, .weight = choice.owed()})) return;
  choice.settle();
  work.act_ = &act;
}

void job_times::forget(job& work) noexcept { work.act_ = notes.take(work).act; }

auto job_times::code_of(const job& work) noexcept -> job::act_fn {
  return is_timed(work) ? notes.find(work).act : work.act_;
}

/// Runs the original function of a timed job, and measures its run time. The job may be destroyed when its function
/// returns.
void job_times::act(job& work, job::action action) {
  const post_note note = notes.take(work);
  work.act_ = note.act;
  if (action == job::action::drop) return note.act(work, action);
  const clock_source& clock = *note.times->clock_;
  const time_point begin = clock.now();
  note.times->queued_.add(begin - note.posted, note.weight);
  struct to_the_end {
    const post_note& job_note;
    const clock_source& clock;
    time_point begin;
    ~to_the_end() { job_note.times->ran_.add(clock.now() - begin, job_note.weight); }
  } const measured{note, clock, begin};
  note.act(work, action);
}

}  // namespace detail

auto job::code() const noexcept -> act_fn { return detail::job_times::code_of(*this); }

}  // namespace braid
