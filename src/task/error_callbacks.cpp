// src/task/error_callbacks.cpp: keeps the list of error callbacks. A change replaces the list by a copy, so callbacks
// run without a lock.
#include <braid/task/error_callbacks.hpp>

#include <braid/base/config.hpp>
#include <braid/task/detail/report_exception.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace braid {
namespace {

/// An error callback with its number.
struct numbered_callback {
  error_callbacks::id number;
  error_callback call;
};

using callback_list = std::vector<numbered_callback>;

}  // namespace

struct error_callbacks::state {
  [[nodiscard]] auto list() const -> std::shared_ptr<const callback_list> {
    const std::lock_guard lock(mutex);
    return all;
  }

  mutable std::mutex mutex;
  std::shared_ptr<const callback_list> all = std::make_shared<callback_list>();  // under the lock; never changed
  std::uint64_t last = 0;                                                        // under the lock
};

error_callbacks::error_callbacks() : state_(std::make_shared<state>()) {}

auto error_callbacks::add(error_callback callback) -> id {
  BRAID_EXPECTS(callback, "an error callback needs a callable, got an empty one");
  const std::lock_guard lock(state_->mutex);
  auto longer = std::make_shared<callback_list>(*state_->all);
  const id number{state_->last + 1};
  longer->push_back({number, std::move(callback)});
  state_->all = std::move(longer);
  ++state_->last;
  return number;
}

auto error_callbacks::remove(id id) -> bool {
  std::shared_ptr<const callback_list> before;  // destroyed outside of the lock, with the callable
  const std::lock_guard lock(state_->mutex);
  auto shorter = std::make_shared<callback_list>(*state_->all);
  if (std::erase_if(*shorter, [id](const numbered_callback& each) { return each.number == id; }) == 0) return false;
  before = std::exchange(state_->all, std::move(shorter));
  return true;
}

auto error_callbacks::contains(id id) const -> bool {
  const auto all = state_->list();
  return std::ranges::find(*all, id, &numbered_callback::number) != all->end();
}

auto error_callbacks::size() const -> std::size_t { return state_->list()->size(); }

void error_callbacks::operator()(const std::exception_ptr& error, const error_callback::origin& origin) const {
  const auto all = state_->list();
  if (all->empty()) return detail::report_job_exception({}, error, origin);
  std::exception_ptr thrown;
  for (const numbered_callback& each : *all) {
    try {
      each.call(error, origin);
    } catch (...) {
      if (!thrown) thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace braid
