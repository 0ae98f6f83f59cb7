// tests/rankd/cli/run_rankd.hpp: runs the program that users run. Wants RANKD_BINARY from tests/CMakeLists.txt.
#pragma once

#include <tests/support/process.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::testing {

using words = std::vector<std::string>;

inline auto rankd_in(const std::filesystem::path& folder, words arguments, std::string_view input = {})
    -> braid::testing::process_end {
  arguments.insert(arguments.begin(), RANKD_BINARY);
  return braid::testing::run_process(std::move(arguments), {.folder = folder, .text = input});
}

inline auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

}  // namespace rankd::testing
