// rankd/cli/checks/option_checks.hpp: checks the values of command-line options, with readable errors.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace rankd {

/// Returns a check for an integer in decimal digits, from `min_value` to `max_value`. CLI11's own check would parse 010
/// as eight, and would silently replace a number that is too large with the largest possible number.
[[nodiscard]] auto whole_number(std::int64_t min_value, std::int64_t max_value) -> CLI::Validator;

/// Returns a check for a number from `min_value` to `max_value`, with or without a fraction.
[[nodiscard]] auto number_between(double min_value, double max_value) -> CLI::Validator;

[[nodiscard]] auto check_not_empty(const std::string& text) -> std::string;

/// Checks that a value is the path of an existing folder.
[[nodiscard]] auto check_folder(const std::string& text) -> std::string;

/// Checks that a value is a numeric address with a port.
[[nodiscard]] auto check_listen(const std::string& text) -> std::string;

/// Checks that a value is the name of a host without a port, or `*`.
[[nodiscard]] auto check_host_name(const std::string& text) -> std::string;

/// Checks that a value is the URL of a server without a path, such as http://HOST:PORT.
[[nodiscard]] auto check_server_url(const std::string& text) -> std::string;

/// Checks that a value is the URL of a collector of spans. The URL may have a path.
[[nodiscard]] auto check_collector_url(const std::string& text) -> std::string;

/// Checks the address of a store, which must be a folder.
[[nodiscard]] auto check_store(const std::string& url) -> std::string;

/// Checks the address of a store, which must be a folder or the URL of a Redis server.
[[nodiscard]] auto check_filled_store(const std::string& url) -> std::string;

}  // namespace rankd
