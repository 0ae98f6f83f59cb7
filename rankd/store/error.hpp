// rankd/store/error.hpp: why a store that is open may still refuse to answer, and what it says then.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>
#include <system_error>

namespace rankd {

/// The refusals of a store; those of the operating system keep their own codes.
enum class store_errc : std::uint8_t {
  wrong_type = 1,  ///< a list was asked of a hash, or a field of a list
  corrupt,         ///< the file holds something that is not a record
  full,            ///< a load needs a larger map
};

/// The category of `store_errc`; its messages are sentences.
auto store_category() noexcept -> const std::error_category&;

/// Lets a `store_errc` stand wherever a std::error_code is wanted.
auto make_error_code(store_errc code) noexcept -> std::error_code;

}  // namespace rankd

template <>
struct std::is_error_code_enum<rankd::store_errc> : std::true_type {};

namespace rankd {

/// Why a batch has no answer: a code, and what the server has said itself, if anything. It can be taken for the code.
class store_error : public std::error_code {
 public:
  using std::error_code::error_code;
  store_error(std::error_code why, std::string_view server_text = {}) noexcept  // implicit, as a code is one
      : std::error_code(why), server_text_(server_text) {}

  /// As it came. Lifetime: of the arena of the batch.
  [[nodiscard]] auto server_text() const noexcept -> std::string_view { return server_text_; }

 private:
  std::string_view server_text_;
};

/// The answer to a batch.
template <typename T>
using store_result = std::expected<T, store_error>;

}  // namespace rankd
