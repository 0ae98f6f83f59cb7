// rankd/cli/checks/option_checks.hpp: checks of option values, with errors for the person at the terminal.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace rankd {

/// Accepts decimal digits, from `min_value` to `max_value`. CLI11 by itself reads 010 as eight, and the largest number
/// in place of a larger one.
[[nodiscard]] auto whole_number(std::int64_t min_value, std::int64_t max_value) -> CLI::Validator;

/// A number from `min_value` to `max_value`, with a fraction or without.
[[nodiscard]] auto number_between(double min_value, double max_value) -> CLI::Validator;

[[nodiscard]] auto check_not_empty(const std::string& text) -> std::string;

/// An address with its port, by numbers.
[[nodiscard]] auto check_listen(const std::string& text) -> std::string;

/// Checks the name of a host without a port, or `*`.
[[nodiscard]] auto check_host_name(const std::string& text) -> std::string;

/// Accepts a server without a path: http://HOST:PORT.
[[nodiscard]] auto check_server_url(const std::string& text) -> std::string;

/// A collector of spans: a server, or an endpoint of one.
[[nodiscard]] auto check_collector_url(const std::string& text) -> std::string;

/// A store that is a folder.
[[nodiscard]] auto check_store(const std::string& url) -> std::string;

/// A store that is a folder or a Redis.
[[nodiscard]] auto check_filled_store(const std::string& url) -> std::string;

}  // namespace rankd
