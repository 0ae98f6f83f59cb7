// tests/rankd/cli/run_serve.hpp: `rankd serve` beside the test. Wants RANKD_BINARY from tests/CMakeLists.txt.
#pragma once

#include <braid/io/sockets.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/started_process.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::testing {

class running_server : public braid::testing::started_process {
 public:
  /// Returns once it listens, at a port that is free.
  explicit running_server(const std::filesystem::path& project, std::vector<std::string> more = {})
      : started_process(words(std::move(more)), project) {
    constexpr std::string_view before = "listening on http://";
    const auto said = [&] { return has_ended() || out().ends_with("\n"); };
    if (!braid::testing::eventually(said) || !out().starts_with(before)) throw std::runtime_error(out() + err());
    const std::string line = out();
    address_ = braid::socket_address::parse(line.substr(before.size(), line.size() - before.size() - 1)).value();
  }

  [[nodiscard]] auto address() const noexcept -> const braid::socket_address& { return address_; }

  [[nodiscard]] auto caller() const -> braid::testing::http_caller { return braid::testing::http_caller(address_); }

 private:
  static auto words(std::vector<std::string> more) -> std::vector<std::string> {
    std::vector<std::string> all{RANKD_BINARY, "serve", "--listen", "127.0.0.1:0"};
    all.insert(all.end(), more.begin(), more.end());
    const std::string deadline = "--default-deadline-ms";  // a busy machine is no fault
    if (std::ranges::find(more, deadline) == more.end()) all.insert(all.end(), {deadline, "60000"});
    return all;
  }

  braid::socket_address address_;
};

}  // namespace rankd::testing
