// sim/polling.cpp: implements poll, select and epoll. The simulator stores an epoll instance's registrations of
// simulated descriptors, and the kernel stores the registrations of real descriptors.
#include <sim/network.hpp>

#include <algorithm>
#include <cstring>

#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

namespace sim {

class epoll;

/// A descriptor that is registered in an epoll instance.
struct watch {
  epoll* owner;
  object* target;
  int descriptor;
  std::uint32_t events;
  epoll_data_t data;
  bool is_queued = false;  ///< it is in the list of possibly ready descriptors
};

namespace {

constexpr std::uint32_t always = POLLERR | POLLHUP;
constexpr std::uint32_t kinds_of_wake = EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE | EPOLLWAKEUP;

/// Adds the synonyms of events: POLLRDNORM for POLLIN, and POLLWRNORM for POLLOUT.
auto with_aliases(std::uint32_t events) -> std::uint32_t {
  if ((events & POLLIN) != 0) events |= POLLRDNORM;
  if ((events & POLLOUT) != 0) events |= POLLWRNORM;
  return events;
}

auto found_events(const watch& item) -> std::uint32_t {
  const std::uint32_t wanted = item.events & ~kinds_of_wake;
  return wanted == 0 ? 0 : with_aliases(item.target->ready()) & (wanted | always);
}

}  // namespace

class epoll final : public object {
 public:
  explicit epoll(int number) : number_(number) {}

  [[nodiscard]] auto ready() const -> std::uint32_t override {
    for (const watch* each : queued_)
      if (found_events(*each) != 0) return POLLIN;
    pollfd real{number(), POLLIN, 0};
    const timespec none{};
    const long found = kernel(SYS_ppoll, reinterpret_cast<long>(&real), 1, reinterpret_cast<long>(&none), 0, 8);
    return found > 0 && (real.revents & POLLIN) != 0 ? POLLIN : 0;
  }
  auto receive(int /*descriptor*/, message& /*wanted*/) -> ssize_t override { return fail(EINVAL); }
  auto send(int /*descriptor*/, const message& /*given*/) -> ssize_t override { return fail(EINVAL); }

  void close() override {
    for (const auto& each : watches_) std::erase(each->target->watches, each.get());
    queued_.clear();
    watches_.clear();
  }

  auto control(int operation, int descriptor, object& target, const epoll_event* wanted) -> int {
    const auto found = std::ranges::find_if(
        watches_, [&](const auto& each) { return each->descriptor == descriptor && each->target == &target; });
    const bool is_known = found != watches_.end();
    if (&target == this || (operation != EPOLL_CTL_DEL && wanted == nullptr))
      return fail(wanted == nullptr ? EFAULT : EINVAL);
    switch (operation) {
      case EPOLL_CTL_ADD: return is_known ? fail(EEXIST) : add(descriptor, target, *wanted);
      case EPOLL_CTL_MOD:
        if (!is_known) return fail(ENOENT);
        if (((wanted->events | (*found)->events) & EPOLLEXCLUSIVE) != 0) return fail(EINVAL);
        (*found)->events = wanted->events;
        (*found)->data = wanted->data;
        if (found_events(**found) != 0) enqueue(**found);
        return 0;
      case EPOLL_CTL_DEL: return is_known ? remove(**found), 0 : fail(ENOENT);
      default: return fail(EINVAL);
    }
  }

  void enqueue(watch& ready) {
    if (std::exchange(ready.is_queued, true)) return;
    queued_.push_back(&ready);
    changed(POLLIN);
  }

  void remove(const watch& gone) {
    std::erase(gone.target->watches, &gone);
    std::erase(queued_, &gone);
    std::erase_if(watches_, [&](const auto& each) { return each.get() == &gone; });
  }

  /// Stores the events that currently hold, without waiting. Returns the number of stored events.
  auto find(epoll_event* events, int room) -> int {
    if (room <= 0 || events == nullptr) return fail(EINVAL);
    const bool is_real_first = network_chance(2) == 0;
    int count = is_real_first ? find_real(events, room) : find_simulated(events, room);
    if (count < room)
      count += is_real_first ? find_simulated(events + count, room - count) : find_real(events + count, room - count);
    return count;
  }

  [[nodiscard]] auto has_waiter() const -> bool {
    bool found = false;
    for_each_thread([&](const thread& each) {
      for (nfds_t at = 0; each.is == state::blocked && at < each.waits.descriptor_count; ++at)
        found = found || find_object(each.waits.descriptors[at].fd).get() == this;
    });
    return found;
  }

 private:
  auto add(int descriptor, object& target, const epoll_event& wanted) -> int {
    auto made = make<watch>(watch{this, &target, descriptor, wanted.events, wanted.data});
    target.watches.push_back(made.get());
    watches_.push_back(made);
    if (found_events(*made) != 0 || dynamic_cast<epoll*>(&target) != nullptr) enqueue(*made);
    return 0;
  }

  auto find_real(epoll_event* events, int room) const -> int {
    const long found = kernel(SYS_epoll_pwait, number(), reinterpret_cast<long>(events), room, 0, 0, 8);
    return static_cast<int>(std::max(found, 0L));
  }

  auto find_simulated(epoll_event* events, int room) -> int {
    int count = 0;
    for (std::size_t left = queued_.size(); left > 0 && count < room; --left) {
      watch& next = *queued_.front();
      queued_.pop_front();
      next.is_queued = false;
      const std::uint32_t found = found_events(next);
      const bool is_nested = dynamic_cast<epoll*>(next.target) != nullptr;  // the kernel may make it ready at any time
      if (found != 0) events[count++] = {.events = found, .data = next.data};
      if (found != 0 && (next.events & EPOLLONESHOT) != 0) {
        next.events &= kinds_of_wake;
      } else if (is_nested || (found != 0 && (next.events & EPOLLET) == 0)) {
        next.is_queued = true;
        queued_.push_back(&next);
      }
    }
    return count;
  }

  /// Returns an open descriptor of the epoll instance. The original descriptor may have been closed while a copy of it
  /// is still open.
  [[nodiscard]] auto number() const -> int {
    while (find_object(number_).get() != this && descriptors > 0) number_ = number_ > 65'000 ? 0 : number_ + 1;
    return number_;
  }

  mutable int number_;
  list<std::shared_ptr<watch>> watches_;
  queue<watch*> queued_;
};

void object::changed(std::uint32_t events) {
  descriptors_changed();
  list<watch*> exclusive;
  bool is_any_waiting = false;
  for (watch* each : watches) {
    if ((with_aliases(events) & (each->events | always)) == 0 || (each->events & ~kinds_of_wake) == 0) continue;
    if ((each->events & EPOLLEXCLUSIVE) == 0) {
      each->owner->enqueue(*each);
    } else {
      const bool waits = each->owner->has_waiter();
      if (waits && !is_any_waiting) exclusive.clear();
      is_any_waiting = is_any_waiting || waits;
      if (waits == is_any_waiting) exclusive.push_back(each);
    }
  }
  // With EPOLLEXCLUSIVE, only one epoll instance with a waiting thread is notified. If no instance has a waiting
  // thread, all instances are notified.
  if (is_any_waiting) exclusive = {exclusive[network_chance(exclusive.size())]};
  for (watch* each : exclusive) each->owner->enqueue(*each);
}

void forget_watches(object& gone) {
  while (!gone.watches.empty()) gone.watches.back()->owner->remove(*gone.watches.back());
}

auto has_real_events(int descriptor) -> bool {
  const auto& found = find_object(descriptor);
  return found == nullptr || dynamic_cast<epoll*>(found.get()) != nullptr;
}

auto poll_now(std::span<pollfd> descriptors) -> int {
  list<pollfd> real(descriptors.begin(), descriptors.end());
  int count = 0;
  for (std::size_t at = 0; at < real.size(); ++at) {
    const auto& found = find_object(descriptors[at].fd);
    descriptors[at].revents = 0;
    if (found == nullptr) continue;
    real[at].fd = -1;
    const auto wanted = static_cast<std::uint32_t>(static_cast<unsigned short>(descriptors[at].events));
    descriptors[at].revents = static_cast<short>(with_aliases(found->ready()) & (wanted | always));
    if (descriptors[at].revents != 0) ++count;
  }
  const timespec none{};
  const long found = kernel(SYS_ppoll, reinterpret_cast<long>(real.data()), static_cast<long>(real.size()),
                            reinterpret_cast<long>(&none), 0, 8);
  if (found < 0) return -1;
  for (std::size_t at = 0; at < real.size(); ++at)
    if (real[at].fd >= 0) descriptors[at].revents = real[at].revents;
  return count + static_cast<int>(found);
}

namespace {

auto milliseconds(int limit) -> nanoseconds { return limit < 0 ? never : now() + nanoseconds{limit} * 1'000'000; }

auto wait_for_events(int descriptor, epoll_event* events, int room, nanoseconds deadline) -> int {
  const auto found = find_as<epoll>(descriptor);
  if (found == nullptr)
    return static_cast<int>(kernel(SYS_epoll_pwait, descriptor, reinterpret_cast<long>(events), room, 0, 0, 8));
  pollfd wanted{descriptor, POLLIN, 0};
  return poll_until(deadline, {&wanted, 1}, [&] { return found->find(events, room); });
}

auto create(int flags) -> int {
  const int made = static_cast<int>(kernel(SYS_epoll_create1, flags));
  if (on() && made >= 0) set_object(made, make<epoll>(made));
  return made;
}

}  // namespace

SIM_CALL(int, ppoll, pollfd* descriptors, nfds_t count, const timespec* limit, const sigset_t* mask) {
  if (!on()) return REAL(ppoll)(descriptors, count, limit, mask);
  const nanoseconds deadline = limit == nullptr ? never : after(*limit);
  return poll_until(deadline, {descriptors, count}, [&] { return poll_now({descriptors, count}); });
}

SIM_CALL(int, poll, pollfd* descriptors, nfds_t count, int limit) {
  if (!on()) return REAL(poll)(descriptors, count, limit);
  const timespec time = to_timespec(nanoseconds{std::max(limit, 0)} * 1'000'000);
  return sim_ppoll(descriptors, count, limit < 0 ? nullptr : &time, nullptr);
}

SIM_CALL(int, __poll_chk, pollfd* descriptors, nfds_t count, int limit, size_t /*room*/) {
  return sim_poll(descriptors, count, limit);
}

SIM_CALL(int, epoll_create1, int flags) { return create(flags); }

SIM_CALL(int, epoll_create, int size) { return size > 0 ? create(0) : fail(EINVAL); }

SIM_CALL(int, epoll_wait, int descriptor, epoll_event* events, int room, int limit) {
  if (!on()) return REAL(epoll_wait)(descriptor, events, room, limit);
  return wait_for_events(descriptor, events, room, milliseconds(limit));
}

SIM_CALL(int, epoll_pwait, int descriptor, epoll_event* events, int room, int limit, const sigset_t* mask) {
  if (!on()) return REAL(epoll_pwait)(descriptor, events, room, limit, mask);
  return wait_for_events(descriptor, events, room, milliseconds(limit));
}

SIM_CALL(int, epoll_pwait2, int descriptor, epoll_event* events, int room, const timespec* limit,
         const sigset_t* mask) {
  if (!on()) return REAL(epoll_pwait2)(descriptor, events, room, limit, mask);
  return wait_for_events(descriptor, events, room, limit == nullptr ? never : after(*limit));
}

SIM_CALL(int, epoll_ctl, int descriptor, int operation, int about, epoll_event* event) {
  const auto target = on() ? find_object(about) : nullptr;
  const auto found = target == nullptr || target->is_file() ? nullptr : find_as<epoll>(descriptor);
  if (found != nullptr) return found->control(operation, about, *target, event);
  const int status = REAL(epoll_ctl)(descriptor, operation, about, event);
  if (on()) descriptors_changed();
  return status;
}

SIM_CALL(int, pselect, int bound, fd_set* in, fd_set* out, fd_set* odd, const timespec* limit, const sigset_t* mask) {
  if (!on()) return REAL(pselect)(bound, in, out, odd, limit, mask);
  const std::array<std::pair<fd_set*, short>, 3> sets = {{{in, POLLIN}, {out, POLLOUT}, {odd, POLLPRI}}};
  list<pollfd> wanted;
  for (int at = 0; at < bound; ++at) {
    pollfd asked{at, 0, 0};
    for (const auto& [set, events] : sets)
      if (set != nullptr && FD_ISSET(at, set)) asked.events = static_cast<short>(asked.events | events);
    if (asked.events != 0) wanted.push_back(asked);
  }
  const nanoseconds deadline = limit == nullptr ? never : after(*limit);
  if (poll_until(deadline, wanted, [&] { return poll_now(wanted); }) < 0) return -1;
  if (std::ranges::any_of(wanted, [](const pollfd& each) { return (each.revents & POLLNVAL) != 0; }))
    return fail(EBADF);
  int count = 0;
  for (const auto& [set, events] : sets) {
    const int true_events = events == POLLIN    ? POLLIN | POLLHUP | POLLERR
                            : events == POLLOUT ? POLLOUT | POLLERR
                                                : POLLPRI;
    for (const pollfd& each : wanted) {
      if (set == nullptr || (each.events & events) == 0) continue;
      if ((each.revents & true_events) != 0)
        ++count;
      else
        FD_CLR(each.fd, set);
    }
  }
  return count;
}

SIM_CALL(int, select, int bound, fd_set* in, fd_set* out, fd_set* odd, timeval* limit) {
  if (!on()) return REAL(select)(bound, in, out, odd, limit);
  const timespec time = limit == nullptr ? timespec{} : timespec{limit->tv_sec, limit->tv_usec * 1000};
  return sim_pselect(bound, in, out, odd, limit == nullptr ? nullptr : &time, nullptr);
}

}  // namespace sim
