// rankd/server/admission/in_flight_shares.cpp: counts running requests by name.
#include <rankd/server/admission/in_flight_shares.hpp>

namespace rankd {

auto in_flight_shares::try_enter(std::string_view name, std::optional<std::size_t> max_count) -> std::optional<pass> {
  if (!max_count) return pass();
  const std::scoped_lock lock(mutex_);
  auto at = counts_.find(name);
  if (at == counts_.end()) {
    if (*max_count == 0) return std::nullopt;
    at = counts_.emplace(std::string(name), 0).first;
  }
  if (at->second >= *max_count) return std::nullopt;
  ++at->second;
  return pass(*this, at);
}

auto in_flight_shares::count(std::string_view name) const -> std::size_t {
  const std::scoped_lock lock(mutex_);
  const auto at = counts_.find(name);
  return at == counts_.end() ? 0 : at->second;
}

void in_flight_shares::leave(counts::iterator entry) noexcept {
  const std::scoped_lock lock(mutex_);
  if (--entry->second == 0) counts_.erase(entry);
}

}  // namespace rankd
