// rankd/server/endpoints/request_batch.cpp: a fast parser that only finds strings and brackets. If it fails, the
// general parser reports the errors.
#include <rankd/server/endpoints/request_batch.hpp>

#include <rankd/plan/json.hpp>
#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using texts = std::vector<std::string_view>;

constexpr std::string_view spaces = " \t\r\n";
constexpr std::string_view requests_field = "requests";

/// Splits a batch into texts; gives up if the text does not have the form of a batch.
class cutter {
 public:
  cutter(std::string_view text, std::size_t max) noexcept : rest_(text), max_(max) {}

  /// Returns the texts of the requests; nothing if the text is not a batch.
  auto run() -> std::optional<texts> {
    const std::string quoted = '"' + std::string(requests_field) + '"';
    const bool is_batch = take("{") && take(quoted) && take(":") && take("[") && (take("]") || elements()) && take("}");
    skip_spaces();
    return is_batch && rest_.empty() ? std::optional(std::move(found_)) : std::nullopt;
  }

  [[nodiscard]] auto has_too_many() const noexcept -> bool { return found_.size() > max_; }

 private:
  auto elements() -> bool {
    do {
      const std::string_view text = element();
      if (text.empty()) return false;
      found_.push_back(text);
      if (has_too_many()) return false;
    } while (take(","));
    return take("]");
  }

  /// Returns the text before the next comma or bracket. Ignores commas and brackets within strings or nested brackets.
  /// Returns an empty text if the end is not found.
  auto element() noexcept -> std::string_view {
    skip_spaces();
    std::size_t depth = 0;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (depth == 0 && (c == ',' || c == ']')) return cut(at);
      if (c == '"')
        at = end_of_string(at);
      else if (c == '{' || c == '[')
        ++depth;
      else if ((c == '}' || c == ']') && depth-- == 0)
        return {};
    }
    return {};
  }

  /// Returns the position of the quote that ends a string; the end of the text if there is no such quote.
  [[nodiscard]] auto end_of_string(std::size_t begin) const noexcept -> std::size_t {
    std::size_t at = begin + 1;
    while (at < rest_.size() && rest_[at] != '"') at += rest_[at] == '\\' ? 2 : 1;
    return at;
  }

  auto cut(std::size_t size) noexcept -> std::string_view {
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text.substr(0, text.find_last_not_of(spaces) + 1);
  }

  auto take(std::string_view wanted) noexcept -> bool {
    skip_spaces();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }

  void skip_spaces() noexcept { rest_.remove_prefix(std::min(rest_.find_first_not_of(spaces), rest_.size())); }

  std::string_view rest_;
  std::size_t max_;
  texts found_;
};

/// Returns why a text is not a batch.
auto find_problems(std::string_view body) -> braid::diagnostics {
  auto document = parse_json(body, "request");
  if (!document) return document.error();
  const json_dismantler end(*document);
  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  in.array(requests_field, presence::required);
  in.refuse_unknown_fields();
  problems.set_source("request");
  if (problems.empty())
    return request_problem("unknown_field", "", "the field name `requests` must be written without escapes");
  return problems;
}

}  // namespace

auto split_batch(std::string_view body, std::size_t max_requests) -> braid::checked<texts> {
  cutter cuts(body, max_requests);
  if (auto found = cuts.run()) return std::move(*found);
  if (!cuts.has_too_many()) return std::unexpected(find_problems(body));
  return std::unexpected(request_problem("batch_too_large", "/requests",
                                         "a batch has at most " + std::to_string(max_requests) + " requests"));
}

}  // namespace rankd
