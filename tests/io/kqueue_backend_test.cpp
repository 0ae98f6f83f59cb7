// tests/io/kqueue_backend_test.cpp: the backend of macOS, with a kernel of the test in place of kqueue(2).
#include <src/io/kqueue_backend.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

using namespace braid;
using detail::io_registration;
using detail::io_transfer;
using detail::kqueue_backend;
using detail::kqueue_calls;
using detail::kqueue_event;

namespace {

using filter = std::int16_t;
constexpr filter reads = kqueue_event::read;
constexpr filter writes = kqueue_event::write;

/// A kernel with one kqueue. The test opens and closes descriptors, and makes them ready.
class fake_kernel final : public kqueue_calls {
 public:
  using key = std::pair<std::uintptr_t, filter>;
  struct record {
    std::uint16_t flags = 0;
    std::uint64_t mark = 0;
    bool is_active = false;
  };

  void open(int number) { files_.insert(number); }
  void close(int number) {
    files_.erase(number);
    for (const filter each : {reads, writes}) {
      entries.erase({number, each});
      level_.erase({number, each});
    }
  }
  /// Makes a side ready until `exhaust`, as the arrival of bytes does.
  void arrive(int number, filter side, std::uint16_t flags = 0) {
    const key at{number, side};
    level_[at] = flags;
    if (const auto found = entries.find(at); found != entries.end()) found->second.is_active = true;
  }
  void exhaust(int number, filter side) { level_.erase({number, side}); }

  auto kevent(std::span<const kqueue_event> changes, std::span<kqueue_event> events,
              std::optional<duration> timeout) noexcept -> int override {
    ++calls;
    largest = std::max(largest, changes.size());
    if (const int error = std::exchange(next_error, 0); error != 0) {
      for (const kqueue_event& change : changes.first(std::min(changes.size(), applied_before_error)))
        static_cast<void>(apply(change));
      return -error;
    }
    std::size_t count = 0;
    for (const kqueue_event& change : changes) {
      const int error = apply(change);
      if (error == 0 && (change.flags & kqueue_event::receipt) == 0) continue;
      if (count == events.size()) return -error;
      events[count] = change;
      events[count].flags = kqueue_event::error;  // FreeBSD replaces the flags
      events[count++].data = error;
    }
    if (count != 0 || events.empty()) return static_cast<int>(count);
    for (auto at = entries.begin(); at != entries.end() && count < events.size();) {
      auto& [name, item] = *at;
      if (!std::exchange(item.is_active, false)) {
        ++at;
        continue;
      }
      const auto flags = level_.contains(name) ? level_.at(name) : std::uint16_t{0};
      events[count++] = {.number = name.first, .filter = name.second, .flags = flags, .mark = item.mark};
      at = (item.flags & kqueue_event::once) != 0 ? entries.erase(at) : std::next(at);
    }
    blocked = count == 0 && timeout != duration::zero();
    last_timeout = timeout;
    return static_cast<int>(count);
  }
  [[nodiscard]] auto number() const noexcept -> int override { return 1'000; }
  [[nodiscard]] auto is_regular_file(int descriptor) noexcept -> bool override { return regular.contains(descriptor); }
  [[noreturn]] void cannot_wait(int /*error*/) noexcept override { std::abort(); }

  [[nodiscard]] auto has(int number, filter side) const -> bool { return entries.contains({number, side}); }

  std::map<key, record> entries;
  std::set<int> regular;
  std::map<key, int> refused;  // the errors of entries that cannot be added
  int next_error = 0;
  std::size_t applied_before_error = 0;
  int calls = 0;
  std::size_t largest = 0;  // the largest number of changes in a call
  bool blocked = false;     // the last call would have blocked
  std::optional<duration> last_timeout;

 private:
  auto apply(const kqueue_event& change) -> int {
    const key at{change.number, change.filter};
    const bool is_user = change.filter == kqueue_event::user;
    if ((change.flags & kqueue_event::remove) != 0) return entries.erase(at) == 1 ? 0 : ENOENT;
    if ((change.flags & kqueue_event::add) != 0) {
      if (!is_user && !files_.contains(static_cast<int>(change.number))) return EBADF;
      if (const auto found = refused.find(at); found != refused.end()) return found->second;
      const auto [place, is_new] = entries.try_emplace(at);
      if (is_new) place->second = {.flags = change.flags, .mark = change.mark};  // an existing entry keeps both
      if (!is_user) place->second.is_active = level_.contains(at);
      return 0;
    }
    if (!entries.contains(at)) return ENOENT;
    if ((change.details & kqueue_event::trigger) != 0) entries.at(at).is_active = true;
    return 0;
  }

  std::set<int> files_;
  std::map<key, std::uint16_t> level_;  // the sides that are ready, with the flags of their events
};

struct scene {
  scene() {
    for (int number = 3; number != 400; ++number) kernel->open(number);
    REQUIRE(backend.begin());
  }
  fake_kernel* kernel = new fake_kernel;
  kqueue_backend backend{std::unique_ptr<kqueue_calls>(kernel)};
};

/// A watch that counts its calls, and calls a function of the test.
struct counted_watch : io_watch {
  explicit counted_watch(int number, io_interest side = io_interest::read) {
    descriptor = number;
    interest = side;
    ready = [](io_watch& self) noexcept {
      auto& mine = static_cast<counted_watch&>(self);
      ++mine.times;
      if (mine.call) mine.call();
    };
  }
  std::function<void()> call;
  int times = 0;
};

/// A transfer that records its answers.
struct counted_transfer : io_transfer {
  explicit counted_transfer(io_registration& registration, io_interest side = io_interest::read)
      : io_transfer(registration, side, aim::readiness, answers_of_this) {}
  static void on_moved(io_transfer& self, int outcome) noexcept {
    static_cast<counted_transfer&>(self).moved = outcome;
  }
  static void on_ready(io_transfer& self) noexcept { ++static_cast<counted_transfer&>(self).times; }
  static constexpr answers answers_of_this{&on_moved, &on_ready};
  int times = 0;
  int moved = 0;
};

}  // namespace

TEST_CASE("a watch is an entry that the next wait adds, and that is gone once it was reported") {
  scene here;
  counted_watch reading(5);
  REQUIRE(here.backend.watch(reading));
  CHECK(here.backend.has_watches());
  CHECK_FALSE(here.kernel->has(5, reads));
  const int before = here.kernel->calls;
  here.backend.wait(std::nullopt);
  CHECK(here.kernel->calls == before + 1);
  CHECK(here.kernel->has(5, reads));
  CHECK_FALSE(here.kernel->has(5, writes));
  CHECK(here.kernel->blocked);
  here.kernel->arrive(5, reads);
  here.backend.wait(std::nullopt);
  CHECK(reading.times == 1);
  CHECK_FALSE(here.backend.has_watches());
  here.backend.wait(0ns);
  CHECK(reading.times == 1);
  REQUIRE(here.backend.watch(reading));  // it is still readable, and nothing has to be removed first
  here.backend.wait(std::nullopt);
  CHECK(reading.times == 2);
}

TEST_CASE("the sides of a descriptor are watched apart, each by one watch") {
  scene here;
  counted_watch reading(5);
  counted_watch writing(5, io_interest::write);
  counted_watch another(5);
  REQUIRE(here.backend.watch(reading));
  REQUIRE(here.backend.watch(writing));
  CHECK(here.backend.watch(another).error() == std::errc::file_exists);
  here.kernel->arrive(5, writes);
  here.backend.wait(std::nullopt);
  CHECK(writing.times == 1);
  CHECK(reading.times == 0);
  here.kernel->arrive(5, reads, kqueue_event::end);  // the other side has closed
  here.backend.wait(std::nullopt);
  CHECK(reading.times == 1);
  counted_watch nothing(-1);
  CHECK(here.backend.watch(nothing).error() == std::errc::bad_file_descriptor);
}

TEST_CASE("a watch that is given up is removed from the kernel, and not called") {
  scene here;
  counted_watch reading(5);
  REQUIRE(here.backend.watch(reading));
  here.backend.unwatch(reading);
  here.backend.wait(0ns);
  CHECK_FALSE(here.kernel->has(5, reads));
  REQUIRE(here.backend.watch(reading));
  here.backend.wait(0ns);
  here.kernel->arrive(5, reads);
  here.backend.unwatch(reading);
  here.backend.wait(0ns);
  CHECK(reading.times == 0);
  CHECK_FALSE(here.kernel->has(5, reads));
  CHECK_FALSE(here.backend.has_watches());
}

TEST_CASE("an event of an earlier watch in the same batch is ignored") {
  scene here;
  counted_watch first(5);
  counted_watch second(6);
  counted_watch renewed(6);
  first.call = [&] {
    here.backend.unwatch(second);
    here.kernel->close(6);
    here.kernel->open(6);  // the number means another file now
    REQUIRE(here.backend.watch(renewed));
  };
  REQUIRE(here.backend.watch(first));
  REQUIRE(here.backend.watch(second));
  here.kernel->arrive(5, reads);
  here.kernel->arrive(6, reads);
  here.backend.wait(std::nullopt);
  CHECK(first.times == 1);
  CHECK(second.times == 0);
  CHECK(renewed.times == 0);
  for (int i = 0; i < 2; ++i) here.backend.wait(std::nullopt);  // the first removes an entry that is gone
  CHECK(here.kernel->blocked);
  CHECK(renewed.times == 0);
  here.kernel->arrive(6, reads);
  here.backend.wait(std::nullopt);
  CHECK(renewed.times == 1);
}

TEST_CASE("an entry that is wanted again before a wait has the mark of the new watch") {
  scene here;
  counted_watch first(5);
  counted_watch second(5);
  REQUIRE(here.backend.watch(first));
  here.backend.wait(0ns);
  here.backend.unwatch(first);
  REQUIRE(here.backend.watch(second));
  here.backend.wait(0ns);
  here.kernel->arrive(5, reads);
  here.backend.wait(0ns);
  CHECK(first.times == 0);
  CHECK(second.times == 1);
}

TEST_CASE("a descriptor that is not open is reported, and so the next operation returns the error") {
  scene here;
  counted_watch closed(900);
  REQUIRE(here.backend.watch(closed));
  here.backend.wait(std::nullopt);
  CHECK(closed.times == 1);
  CHECK_FALSE(here.backend.has_watches());
}

TEST_CASE("a regular file is ready at once, without an entry, unless it is given up") {
  scene here;
  here.kernel->regular.insert(7);
  counted_watch file(7);
  for (int times = 1; times <= 2; ++times) {
    REQUIRE(here.backend.watch(file));
    here.backend.wait(std::nullopt);
    CHECK(file.times == times);
    CHECK_FALSE(here.kernel->blocked);
    CHECK_FALSE(here.kernel->has(7, reads));
  }
  counted_watch second(7);
  REQUIRE(here.backend.watch(file));
  here.backend.unwatch(file);
  here.kernel->regular.clear();  // the number means another file now
  REQUIRE(here.backend.watch(second));
  here.backend.wait(0ns);
  CHECK(file.times == 2);
  CHECK(second.times == 0);
}

TEST_CASE("a file that watches itself again is called once in each wait") {
  scene here;
  here.kernel->regular.insert(7);
  counted_watch file(7);
  file.call = [&] { REQUIRE(here.backend.watch(file)); };
  REQUIRE(here.backend.watch(file));
  here.backend.wait(std::nullopt);
  CHECK(file.times == 1);
  here.backend.wait(std::nullopt);
  CHECK(file.times == 2);
}

TEST_CASE("a registration has an edge-triggered entry for each side that has waited") {
  scene here;
  io_registration registration(8, io_registration::kind::tcp);
  counted_transfer reading(registration);
  REQUIRE(here.backend.start(reading));
  here.backend.wait(std::nullopt);
  CHECK(here.kernel->has(8, reads));
  CHECK_FALSE(here.kernel->has(8, writes));
  registration.set_ready(io_interest::read, false);
  here.kernel->arrive(8, reads);
  here.backend.wait(std::nullopt);
  CHECK(reading.times == 1);
  CHECK(registration.may_be_ready(io_interest::read));
  CHECK(registration.pending(io_interest::read) == nullptr);
  CHECK(registration.short_reads_are_final());

  registration.set_ready(io_interest::read, false);
  const int calls = here.kernel->calls;
  REQUIRE(here.backend.start(reading));  // the entry is still there
  here.backend.wait(std::nullopt);
  CHECK(here.kernel->calls == calls + 1);
  CHECK(here.kernel->blocked);
  CHECK(here.backend.cancel(reading));
  CHECK_FALSE(here.backend.has_watches());
  here.kernel->arrive(8, reads, kqueue_event::end);
  here.backend.wait(std::nullopt);
  CHECK(reading.times == 1);
  CHECK(registration.may_be_ready(io_interest::read));  // remembered for the next read
  CHECK_FALSE(registration.short_reads_are_final());

  counted_watch watch(8);
  CHECK(here.backend.watch(watch).error() == std::errc::file_exists);
  counted_transfer writing(registration, io_interest::write);
  here.kernel->arrive(8, writes);
  REQUIRE(here.backend.start(writing));
  here.backend.wait(std::nullopt);
  CHECK(writing.times == 1);
}

TEST_CASE("urgent data ends the trust in short reads") {
  scene here;
  io_registration registration(8, io_registration::kind::tcp);
  counted_transfer reading(registration);
  REQUIRE(here.backend.start(reading));
  here.kernel->arrive(8, reads, kqueue_event::urgent);
  here.backend.wait(std::nullopt);
  CHECK(reading.times == 1);
  CHECK_FALSE(registration.short_reads_are_final());
}

TEST_CASE("a registration that is forgotten leaves nothing for the next file of its number") {
  scene here;
  for (const bool is_sent : {true, false}) {
    io_registration first(8, io_registration::kind::socket);
    counted_transfer reading(first);
    REQUIRE(here.backend.start(reading));
    if (is_sent) here.backend.wait(0ns);
    CHECK(here.backend.cancel(reading));
    here.backend.forget(first);
    CHECK_FALSE(first.is_registered());
    here.kernel->close(8);
    here.kernel->open(8);
    here.backend.wait(0ns);
    CHECK_FALSE(here.kernel->has(8, reads));
    counted_watch watch(8);
    REQUIRE(here.backend.watch(watch));
    here.backend.wait(std::nullopt);
    CHECK(here.kernel->blocked);  // no change has failed
    here.kernel->arrive(8, reads);
    here.backend.wait(std::nullopt);
    CHECK(watch.times == 1);
    here.kernel->exhaust(8, reads);
  }
}

TEST_CASE("a registration that moves to another backend has its entries removed") {
  scene here;
  io_registration registration(8, io_registration::kind::socket);
  counted_transfer reading(registration);
  REQUIRE(here.backend.start(reading));
  here.backend.wait(0ns);
  CHECK(here.backend.cancel(reading));
  here.backend.release(registration);
  here.backend.wait(0ns);
  CHECK_FALSE(here.kernel->has(8, reads));
}

TEST_CASE("a transfer whose entry is refused ends with the error, and the next one tries again") {
  scene here;
  for (const bool is_outer : {false, true}) {
    if (is_outer) CHECK(here.backend.descriptor() == 1'000);
    here.kernel->refused[{9, writes}] = EPIPE;
    io_registration registration(9, io_registration::kind::other);
    counted_transfer writing(registration, io_interest::write);
    REQUIRE(here.backend.start(writing));
    CHECK(writing.moved == 0);  // not within `start`
    here.backend.wait(std::nullopt);
    CHECK(writing.moved == -EPIPE);
    CHECK_FALSE(here.backend.has_watches());
    here.kernel->refused.clear();
    REQUIRE(here.backend.start(writing));
    here.kernel->arrive(9, writes);
    here.backend.wait(std::nullopt);
    CHECK(writing.times == 1);
    here.backend.forget(registration);
    here.kernel->close(9);
    here.kernel->open(9);
  }
}

TEST_CASE("changes are passed again if a call was interrupted, whichever of them it had applied") {
  for (std::size_t applied = 0; applied <= 4; ++applied) {
    CAPTURE(applied);
    scene here;
    counted_watch earlier(3);
    counted_watch gone(4);
    REQUIRE(here.backend.watch(earlier));
    REQUIRE(here.backend.watch(gone));
    here.backend.wait(0ns);
    here.backend.unwatch(gone);
    counted_watch first(5);
    counted_watch second(6);
    REQUIRE(here.backend.watch(first));
    REQUIRE(here.backend.watch(second));
    here.kernel->next_error = EINTR;
    here.kernel->applied_before_error = applied;
    here.backend.wait(std::nullopt);
    here.backend.unwatch(second);
    counted_watch third(6);
    REQUIRE(here.backend.watch(third));
    for (int i = 0; i < 2; ++i) here.backend.wait(std::nullopt);
    CHECK(here.kernel->blocked);
    CHECK_FALSE(here.kernel->has(4, reads));
    for (const int number : {3, 4, 5, 6}) here.kernel->arrive(number, reads);
    here.backend.wait(std::nullopt);
    CHECK(earlier.times == 1);
    CHECK(gone.times == 0);
    CHECK(first.times == 1);
    CHECK(second.times == 0);
    CHECK(third.times == 1);
  }
}

TEST_CASE("more changes than fit into one call are passed by several, before the wait") {
  for (const bool is_interrupted : {false, true}) {
    scene here;
    std::vector<counted_watch> watches;
    for (int number = 3; number != 400; ++number) watches.emplace_back(number);
    for (counted_watch& each : watches) REQUIRE(here.backend.watch(each));
    for (int round = 0; round < 2; ++round) {  // the second one removes an entry for each that it adds
      if (is_interrupted) {
        here.kernel->next_error = EINTR;
        here.backend.wait(std::nullopt);
        CHECK_FALSE(here.kernel->blocked);
      }
      here.backend.wait(std::nullopt);
      if (is_interrupted) here.backend.wait(std::nullopt);
      CHECK(here.kernel->blocked);
      CHECK(here.kernel->largest <= kqueue_calls::max_events);
      CHECK(here.kernel->entries.size() == watches.size() + 1);
      for (counted_watch& each : watches) here.backend.unwatch(each);
      for (counted_watch& each : watches) REQUIRE(here.backend.watch(each));
    }
    for (int number = 3; number != 400; ++number) here.kernel->arrive(number, reads);
    for (int i = 0; i < 4 && here.backend.has_watches(); ++i) here.backend.wait(std::nullopt);
    CHECK(std::ranges::all_of(watches, [](const counted_watch& each) { return each.times == 1; }));
  }
}

TEST_CASE("a wake ends one wait, the one that runs or the next") {
  scene here;
  here.backend.wake();
  here.backend.wake();
  here.backend.wait(std::nullopt);
  CHECK_FALSE(here.kernel->blocked);
  here.backend.wait(std::nullopt);
  CHECK(here.kernel->blocked);
}

TEST_CASE("changes are passed at once if an outer event loop waits for the kqueue") {
  scene here;
  CHECK(here.backend.descriptor() == 1'000);
  counted_watch reading(5);
  REQUIRE(here.backend.watch(reading));
  CHECK(here.kernel->has(5, reads));
  here.backend.unwatch(reading);
  CHECK_FALSE(here.kernel->has(5, reads));
  here.kernel->regular.insert(7);
  counted_watch file(7);
  REQUIRE(here.backend.watch(file));
  CHECK(here.kernel->entries.at({0, kqueue_event::user}).is_active);  // so the kqueue is readable
  here.backend.wait(0ns);
  CHECK(file.times == 1);
}

TEST_CASE("a kernel that refuses the entry for wake-ups has no backend") {
  auto* const kernel = new fake_kernel;
  kqueue_backend backend{std::unique_ptr<kqueue_calls>(kernel)};
  kernel->next_error = ENOSYS;
  CHECK(backend.begin().error() == std::errc::function_not_supported);
}

TEST_CASE("a timeout is rounded up to microseconds, and is at most a year") {
  CHECK_FALSE(detail::kqueue_timeout(std::nullopt));
  CHECK(detail::kqueue_timeout(0ns)->tv_nsec == 0);
  CHECK(detail::kqueue_timeout(1ns)->tv_nsec == 1'000);
  CHECK(detail::kqueue_timeout(1'500'000'001ns)->tv_sec == 1);
  CHECK(detail::kqueue_timeout(1'500'000'001ns)->tv_nsec == 500'001'000);
  CHECK(detail::kqueue_timeout(duration::max())->tv_sec == 365 * 24 * 3600);
  scene here;
  here.backend.wait(5ms);
  CHECK(here.kernel->last_timeout == 5ms);
}
