// rankd/engine/requests/plain_request.cpp: implements a fast parser for usual requests. The parser returns nothing for
// any unusual request.
#include <rankd/engine/detail/plain_request.hpp>

#include <cstddef>

namespace rankd::detail {
namespace {

constexpr std::size_t max_length = 4096;

/// The maximum number of digits of an integer. Integers of this length always fit into 64 bits.
constexpr std::size_t max_digits = 18;

class reader {
 public:
  explicit reader(std::string_view text) noexcept : rest_(text) {}

  auto run() noexcept -> std::optional<plain_request> {
    if (!take('{')) return std::nullopt;
    do {
      if (!member()) return std::nullopt;
    } while (take(','));
    if (!take('}') || made_.user_id == 0) return std::nullopt;
    skip_space();
    return rest_.empty() ? std::optional(made_) : std::nullopt;
  }

 private:
  auto member() noexcept -> bool {
    const std::optional<std::string_view> name = string();
    if (!name || !take(':')) return false;
    if (*name == "user_id") return made_.user_id == 0 && number(made_.user_id);
    if (*name == "request_id") return new_string(made_.request_id);
    return *name == "plan" && new_string(made_.plan);
  }

  auto new_string(std::optional<std::string_view>& place) noexcept -> bool {
    if (place) return false;
    place = string();
    return place.has_value();
  }

  auto string() noexcept -> std::optional<std::string_view> {
    if (!take('"')) return std::nullopt;
    for (std::size_t size = 0; size < rest_.size(); ++size) {
      const char c = rest_[size];
      if (c == '"') {
        const std::string_view text = rest_.substr(0, size);
        rest_.remove_prefix(size + 1);
        return text;
      }
      if (c < ' ' || c > '~' || c == '\\') return std::nullopt;
    }
    return std::nullopt;
  }

  /// Parses a positive integer. Returns false if the number is 0, begins with 0 or has too many digits.
  auto number(std::int64_t& value) noexcept -> bool {
    skip_space();
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      if (digits == max_digits) return false;
      value = value * 10 + (rest_[digits] - '0');
    }
    const bool is_right = digits > 0 && rest_.front() != '0';
    rest_.remove_prefix(digits);  // what follows must be a comma or the end of the object
    return is_right;
  }

  auto take(char wanted) noexcept -> bool {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_space() noexcept {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\r' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
  plain_request made_;
};

}  // namespace

auto read_plain_request(std::string_view text) noexcept -> std::optional<plain_request> {
  if (text.size() > max_length) return std::nullopt;
  return reader(text).run();
}

}  // namespace rankd::detail
