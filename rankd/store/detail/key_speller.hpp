// rankd/store/detail/key_speller.hpp: writes the keys of a batch without allocations.
#pragma once

#include <rankd/store/id_batch.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace rankd::detail {

/// Writes one key after another with the same prefix.
class key_speller {
 public:
  explicit key_speller(std::string_view prefix) : prefix_(prefix.size()) {
    BRAID_EXPECTS(prefix.size() <= key_batch::max_prefix, "the prefix of a batch must have at most max_prefix bytes");
    std::copy(prefix.begin(), prefix.end(), text_.begin());
  }

  /// Returns the key of an id. Lifetime: valid until the next call.
  auto spell(std::int64_t id) noexcept -> std::string_view {
    const char* const end = std::to_chars(text_.data() + prefix_, text_.data() + text_.size(), id).ptr;
    return {text_.data(), static_cast<std::size_t>(end - text_.data())};
  }

 private:
  static constexpr std::size_t max_id = std::numeric_limits<std::int64_t>::digits10 + 2;

  std::array<char, key_batch::max_prefix + max_id> text_;
  std::size_t prefix_;
};

}  // namespace rankd::detail
