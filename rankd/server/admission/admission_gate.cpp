// rankd/server/admission/admission_gate.cpp: admits requests, queues them, and releases their permits.
#include <rankd/server/admission/admission_gate.hpp>

#include <braid/coro/with_scope.hpp>

#include <algorithm>
#include <system_error>

namespace rankd {
namespace {

constexpr std::uint64_t admissions_per_measurement = 16;

auto wait_for(braid::event& granted) -> braid::task<void> { co_await granted; }

}  // namespace

auto admission_gate::refuses(braid::time_point now) noexcept -> bool {
  learn_pace(now);
  const bool busy = waiting_ > 0 || under_way_ >= limit_.limit();
  const bool slow = waiting_ > 0 && now - queue_.front().since > options_.max_wait;
  const bool many =
      static_cast<double>(waiting_) * time_per_admission_ > static_cast<double>(options_.max_wait.count());
  const bool full = busy && (waiting_ >= options_.queue || slow || many);
  if (full) ++refused_;
  return full;
}

auto admission_gate::try_enter() noexcept -> std::optional<pass> {
  if (waiting_ > 0 || under_way_ >= limit_.limit()) return std::nullopt;
  ++under_way_;
  ++admitted_;
  return pass(*this);
}

auto admission_gate::free_permits() const noexcept -> std::size_t {
  if (waiting_ > 0) return 0;
  return limit_.limit() - std::min(under_way_, limit_.limit());
}

auto admission_gate::enter(braid::time_point now, braid::time_point deadline) -> braid::task<braid::result<pass>> {
  if (auto free = try_enter()) co_return std::move(*free);
  if (refuses(now)) co_return braid::fail(braid::errc::full);
  waiter place(*this, now);
  braid::task<void> waits = wait_for(place.granted);
  braid::task<braid::result<void>> limited = braid::with_deadline(deadline, std::move(waits));
  static_cast<void>(co_await std::move(limited));
  if (!place.holds_permit) {
    ++late_;
    co_return braid::fail(braid::errc::deadline_exceeded);
  }
  place.holds_permit = false;  // the pass has it now
  co_return pass(*this);
}

void admission_gate::note(double slowdown, const pass& ended) noexcept {
  limit_.note(slowdown, ended.beside_);
  let_in();
}

auto admission_gate::counts() const noexcept -> admission_counts {
  return {.admitted = admitted_,
          .refused = refused_,
          .late = late_,
          .under_way = under_way_,
          .waiting = waiting_,
          .limit = limit_.limit()};
}

void admission_gate::leave() noexcept {
  --under_way_;
  let_in();
}

void admission_gate::let_in() noexcept {
  while (under_way_ < limit_.limit()) {
    waiter* const first = queue_.pop_front();
    if (first == nullptr) return;
    if (--waiting_ == 0) nobody_waits();
    ++admissions_;
    ++under_way_;
    ++admitted_;
    first->holds_permit = true;
    first->granted.set();
  }
}

/// Measures the mean time between admissions, but only while requests wait. While no request waits, the number of
/// admissions shows only how many requests arrive, not how many could be admitted.
void admission_gate::learn_pace(braid::time_point now) noexcept {
  if (waiting_ == 0) return;
  const std::uint64_t admissions = admissions_ - admissions_before_;
  if (measures_ && admissions < admissions_per_measurement) return;
  if (measures_) {
    const double each = static_cast<double>((now - measured_from_).count()) / static_cast<double>(admissions);
    time_per_admission_ = time_per_admission_ == 0 ? each : (3 * time_per_admission_ + each) / 4;
  }
  measures_ = true;
  admissions_before_ = admissions_;
  measured_from_ = now;
}

void admission_gate::nobody_waits() noexcept {
  measures_ = false;
  time_per_admission_ = 0;
}

}  // namespace rankd
