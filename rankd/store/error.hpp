// rankd/store/error.hpp: the errors that an open store may return.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>
#include <system_error>

namespace rankd {

/// The errors of a store. Errors of the operating system keep their own codes.
enum class store_errc : std::uint8_t {
  wrong_type = 1,  ///< for example, a list was requested from a hash
  corrupt,         ///< the file contains something that is not a record
  full,            ///< a load needs a larger memory map
};

/// Returns the category of `store_errc`. The messages of this category are sentences.
auto store_category() noexcept -> const std::error_category&;

/// Converts a `store_errc` implicitly to a std::error_code.
auto make_error_code(store_errc code) noexcept -> std::error_code;

}  // namespace rankd

template <>
struct std::is_error_code_enum<rankd::store_errc> : std::true_type {};

namespace rankd {

/// The reason why a batch failed: an error code, and the server's own message, if the server sent one.
class store_error : public std::error_code {
 public:
  using std::error_code::error_code;
  store_error(
      std::error_code error,
      std::string_view server_text = {}) noexcept  // implicit, because an error code alone is also a store_error
      : std::error_code(error), server_text_(server_text) {}

  /// Returns the message as it was received. Lifetime: the arena of the batch must outlive the result.
  [[nodiscard]] auto server_text() const noexcept -> std::string_view { return server_text_; }

 private:
  std::string_view server_text_;
};

/// The answer to a batch, or the error.
template <typename T>
using store_result = std::expected<T, store_error>;

}  // namespace rankd
