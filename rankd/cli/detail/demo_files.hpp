// rankd/cli/detail/demo_files.hpp: the files of new projects that do not depend on options.
#pragma once

#include <span>
#include <string_view>

namespace rankd::detail {

struct demo_file {
  std::string_view path;  ///< relative to the project's root
  std::string_view text;
};

/// Returns the files, which rankd/cli/demo.cmake embeds at build time.
auto demo_files() noexcept -> std::span<const demo_file>;
auto empty_files() noexcept -> std::span<const demo_file>;
auto shop_files() noexcept -> std::span<const demo_file>;

}  // namespace rankd::detail
