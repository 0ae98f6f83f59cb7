// rankd/server/endpoints/request_batch.cpp: splits a batch into its requests without parsing them. If that fails, the
// general parser reports the errors.
#include <rankd/server/endpoints/request_batch.hpp>

#include <rankd/engine/requests/request.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/server/detail/json_cutter.hpp>

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using texts = std::vector<std::string_view>;

constexpr std::string_view requests_field = "requests";

/// Appends the texts of an array up to its closing bracket. Stops after `max` + 1 texts. Returns whether the array has
/// ended.
auto cut_elements(detail::json_cutter& cutter, std::size_t max, texts& found) -> bool {
  do {
    const std::string_view text = cutter.value(']');
    if (text.empty()) return false;
    found.push_back(text);
    if (found.size() > max) return false;
  } while (cutter.skip(","));
  return cutter.skip("]");
}

/// Splits a batch into texts. Returns false if the text does not have the form of a batch, or has more than `max`
/// requests.
auto cut_batch(std::string_view body, std::size_t max, texts& found) -> bool {
  detail::json_cutter in(body);
  const std::string quoted = '"' + std::string(requests_field) + '"';
  return in.skip("{") && in.skip(quoted) && in.skip(":") && in.skip("[") &&
         (in.skip("]") || cut_elements(in, max, found)) && in.skip("}") && in.is_at_end();
}

/// Returns the reason why a text is not a batch.
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
  texts found;
  if (cut_batch(body, max_requests, found)) return found;
  if (found.size() <= max_requests) return std::unexpected(find_problems(body));
  return std::unexpected(request_problem("batch_too_large", "/requests",
                                         "a batch may have at most " + std::to_string(max_requests) + " requests"));
}

}  // namespace rankd
