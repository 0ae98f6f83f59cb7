// rankd/server/admission/in_flight_shares.hpp: counts the requests of each plan, or of each client, that run at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rankd {

/// Counts the running requests of each name, which is the name of a plan or of a client, in all loops of a server. So
/// the limit for a name does not depend on the loops that serve the requests.
/// Threads: any. Cost: a lock that all loops share, but only for names with a limit.
/// Lifetime: outlives its passes.
class in_flight_shares {
  using counts = std::map<std::string, std::size_t, std::less<>>;

 public:
  class pass;

  in_flight_shares() = default;
  in_flight_shares(const in_flight_shares&) = delete;
  auto operator=(const in_flight_shares&) -> in_flight_shares& = delete;

  /// Counts one more request with this name. Returns nothing if `max_count` requests with this name are already
  /// running. If the name has no limit, the request is not counted.
  [[nodiscard]] auto try_enter(std::string_view name, std::optional<std::size_t> max_count) -> std::optional<pass>;

  /// Returns the number of counted requests with this name.
  [[nodiscard]] auto count(std::string_view name) const -> std::size_t;

 private:
  void leave(counts::iterator entry) noexcept;

  mutable std::mutex mutex_;
  counts counts_;  // only names with at least one running request
};

/// A counted request. When this object is destroyed, the request no longer counts.
class [[nodiscard]] in_flight_shares::pass {
 public:
  pass(pass&& other) noexcept : shares_(std::exchange(other.shares_, nullptr)), entry_(other.entry_) {}
  auto operator=(pass&&) -> pass& = delete;
  ~pass() {
    if (shares_ != nullptr) shares_->leave(entry_);
  }

 private:
  friend class in_flight_shares;
  pass() = default;
  pass(in_flight_shares& shares, counts::iterator entry) noexcept : shares_(&shares), entry_(entry) {}

  in_flight_shares* shares_ = nullptr;  // null: the request is not counted
  counts::iterator entry_;
};

}  // namespace rankd
