// sim/timerfd.cpp: implements timer descriptors, which become readable at a virtual time.
#include <sim/network.hpp>

#include <cstring>

#include <sys/syscall.h>
#include <sys/timerfd.h>

namespace sim {
namespace {

class timer final : public object {
 public:
  explicit timer(clockid_t clock) : clock_(clock) {}

  [[nodiscard]] auto ready() const -> std::uint32_t override { return count() > 0 ? POLLIN : 0; }

  auto receive(int descriptor, message& wanted) -> ssize_t override {
    const std::shared_ptr<object> keep = shared_from_this();
    point(call::read);
    if (wanted.size() < sizeof(std::uint64_t)) return fail(EINVAL);
    while (count() == 0)
      if (!wait_for(call::read, descriptor, *this, POLLIN, !is_nonblocking(descriptor), never)) return -1;
    const std::uint64_t found = count();
    next_ = interval_ == 0 ? never : next_ + static_cast<nanoseconds>(found) * interval_;
    arm();
    return static_cast<ssize_t>(wanted.scatter({reinterpret_cast<const char*>(&found), sizeof(found)}));
  }

  auto send(int /*descriptor*/, const message& /*given*/) -> ssize_t override { return fail(EINVAL); }

  void close() override { next_ = never; }

  void expire() override {
    if (armed_ > now()) return;  // this event belongs to an earlier setting
    armed_ = never;
    if (next_ <= now()) changed(POLLIN);
    arm();
  }

  [[nodiscard]] auto shown() const -> itimerspec {
    if (next_ == never) return {to_timespec(interval_), {}};
    const nanoseconds rest = next_ > now()    ? next_ - now()
                             : interval_ == 0 ? 0
                                              : interval_ - (now() - next_) % interval_;
    return {to_timespec(interval_), to_timespec(rest)};
  }

  void set(int flags, const itimerspec& wanted) {
    const nanoseconds first = to_nanoseconds(wanted.it_value);
    interval_ = to_nanoseconds(wanted.it_interval);
    next_ = first == 0                         ? never
            : (flags & TFD_TIMER_ABSTIME) != 0 ? moment(clock_, wanted.it_value)
                                               : after(wanted.it_value);
    armed_ = never;
    if (next_ <= now()) changed(POLLIN);
    arm();
  }

 private:
  /// Returns how often the timer has expired since the last read.
  [[nodiscard]] auto count() const -> std::uint64_t {
    if (next_ > now()) return 0;
    return interval_ == 0 ? 1 : static_cast<std::uint64_t>(1 + (now() - next_) / interval_);
  }
  /// Schedules an event for the next expiry of the timer.
  void arm() {
    nanoseconds at = next_;
    if (at <= now()) at = interval_ == 0 ? never : now() + interval_ - (now() - next_) % interval_;
    if (at == never || at == armed_) return;
    armed_ = at;
    add_event({.at = at, .to = shared_from_this()});
  }

  clockid_t clock_;
  nanoseconds next_ = never;
  nanoseconds interval_ = 0;
  nanoseconds armed_ = never;  // the time of the event that it waits for
};

}  // namespace

SIM_CALL(int, timerfd_create, int clock, int flags) {
  if (!on()) return REAL(timerfd_create)(clock, flags);
  point(call::descriptor);
  const int made = REAL(timerfd_create)(clock, flags);
  if (made >= 0) set_object(made, make<timer>(clock));
  return made;
}

SIM_CALL(int, timerfd_settime, int descriptor, int flags, const itimerspec* wanted, itimerspec* old) {
  if (!on()) return REAL(timerfd_settime)(descriptor, flags, wanted, old);
  const auto found = find_as<timer>(descriptor);
  if (found == nullptr) return REAL(timerfd_settime)(descriptor, flags, wanted, old);
  point(call::clock);
  if (!is_valid(wanted->it_value) || !is_valid(wanted->it_interval)) return fail(EINVAL);
  if (old != nullptr) *old = found->shown();
  found->set(flags, *wanted);
  return 0;
}

SIM_CALL(int, timerfd_gettime, int descriptor, itimerspec* shown) {
  if (!on()) return REAL(timerfd_gettime)(descriptor, shown);
  const auto found = find_as<timer>(descriptor);
  if (found == nullptr) return REAL(timerfd_gettime)(descriptor, shown);
  *shown = found->shown();
  return 0;
}

}  // namespace sim
