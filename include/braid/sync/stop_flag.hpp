// braid/sync/stop_flag.hpp: a flag that asks work to stop, and a concept for the types that functions accept as a stop
// request.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>

#include <concepts>
#include <cstdint>
#include <stop_token>
#include <type_traits>

namespace braid {

/// A flag that asks work to stop. It is set once and read often. It carries no data: work that finds the flag set ends
/// early. Threads: any. Cost: a check is a relaxed load; check once per chunk of a long computation.
class stop_flag {
 public:
  [[nodiscard]] auto requested() const noexcept -> bool { return reason_.load(relaxed) != none; }

  /// Returns the reason of the stop: errc::stopped or errc::deadline_exceeded. Requires that a stop was requested.
  [[nodiscard]] auto reason() const noexcept -> errc { return static_cast<errc>(reason_.load(relaxed)); }

  /// Sets the flag. The first call stores its reason and returns true. Later calls return false.
  auto request(errc reason) noexcept -> bool {
    std::uint8_t seen = none;
    return reason_.compare_exchange_strong(seen, static_cast<std::uint8_t>(reason), relaxed, relaxed);
  }

 private:
  static constexpr std::uint8_t none = 0;
  atomic<std::uint8_t> reason_{none};  // none, or the errc; written by requesting threads
};

/// A type that functions accept as a stop request: a std::stop_token, or an lvalue of stop_flag, which cannot be
/// copied.
template <typename Signal>
concept stop_signal = std::same_as<std::remove_cvref_t<Signal>, std::stop_token> ||
                      (std::same_as<std::remove_cvref_t<Signal>, stop_flag> && std::is_lvalue_reference_v<Signal>);

}  // namespace braid
