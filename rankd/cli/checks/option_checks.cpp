// rankd/cli/checks/option_checks.cpp: checks numbers, addresses and stores on the command line.
#include <rankd/cli/checks/option_checks.hpp>

#include <rankd/embed/workspace.hpp>
#include <rankd/server/endpoints/own_hosts.hpp>
#include <rankd/server/traces/span_exporter.hpp>
#include <rankd/store/redis_options.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>

#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace rankd {
namespace {

using braid::detail::number_in;

auto starts_with_zero(std::string_view text) -> bool {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text.front() == '0';
}

/// Returns a number in its shortest form.
auto spelled(double value) -> std::string {
  char room[32];
  return {room, std::to_chars(std::begin(room), std::end(room), value, std::chars_format::fixed).ptr};
}

auto not_expected(const std::string& text, std::string_view expected) -> std::string {
  return "must be " + std::string(expected) + ", got `" + text + "`";
}

}  // namespace

auto whole_number(std::int64_t min_value, std::int64_t max_value) -> CLI::Validator {
  const bool is_any = min_value == std::numeric_limits<std::int64_t>::min();
  const std::string range = std::to_string(min_value) + " to " + std::to_string(max_value);
  const std::string what = is_any ? "an integer of 64 bits" : "an integer from " + range;
  return CLI::Validator(
      [=](const std::string& text) {
        const auto value = number_in<std::int64_t>(text);
        const bool is_fine = value && !starts_with_zero(text) && *value >= min_value && *value <= max_value;
        return is_fine ? std::string() : not_expected(text, what);
      },
      is_any ? "" : range);
}

auto number_between(double min_value, double max_value) -> CLI::Validator {
  const std::string range = spelled(min_value) + " to " + spelled(max_value);
  return CLI::Validator(
      [=](const std::string& text) {
        const auto value = number_in<double>(text);
        return value && *value >= min_value && *value <= max_value ? std::string()
                                                                   : not_expected(text, "a number from " + range);
      },
      range);
}

auto check_not_empty(const std::string& text) -> std::string { return text.empty() ? "must not be empty" : ""; }

auto check_folder(const std::string& text) -> std::string {
  std::error_code error;
  if (text.empty()) return check_not_empty(text);
  if (std::filesystem::is_directory(text, error)) return "";
  return "must be an existing folder, but `" + text + "` " +
         (std::filesystem::exists(text, error) ? "is not a folder" : "does not exist");
}

auto check_listen(const std::string& text) -> std::string {
  const auto at = braid::socket_address::parse(text);
  if (at && at->is_ip()) return "";
  return not_expected(text, "ADDRESS:PORT with a numeric address, such as 127.0.0.1:8080, 0.0.0.0:80 or [::]:8080");
}

auto check_host_name(const std::string& text) -> std::string {
  return is_host_name(text) ? "" : not_expected(text, "the name of a host without a port, or *");
}

auto check_server_url(const std::string& text) -> std::string {
  const auto url = braid::http_url::parse(text);
  const bool is_fine = url && url->target == "/" && !text.ends_with('/');
  return is_fine ? "" : not_expected(text, "http://HOST:PORT or https://HOST:PORT");
}

auto check_collector_url(const std::string& text) -> std::string {
  return collector_url(text)
             ? ""
             : not_expected(text, "the URL of a collector for OTLP over HTTP, such as http://HOST:4318");
}

auto check_store(const std::string& url) -> std::string {
  if (url.empty()) return check_not_empty(url);
  const auto folder = parse_store_url(url);
  return folder ? "" : folder.error().front().message + "; " + folder.error().front().hint;
}

auto check_filled_store(const std::string& url) -> std::string {
  if (!is_redis_url(url)) {
    const std::string problem = check_store(url);
    return problem.empty() || url.empty() ? problem : problem + "; for a server, write redis://HOST:PORT";
  }
  const auto fine = check_redis_url(url);
  return fine ? "" : fine.error().front().message + "; " + fine.error().front().hint;
}

}  // namespace rankd
