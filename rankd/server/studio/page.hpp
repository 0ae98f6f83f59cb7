// rankd/server/studio/page.hpp: the files of the page that shows plans, in the program itself.
#pragma once

#include <span>
#include <string_view>

namespace rankd {

/// What a browser may do with the page (Content Security Policy): load its own files, of which `layout` and `compiler`
/// name the scripts of workers, and ask its own server.
inline constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types layout compiler";

/// What the worker may do that compiles plans: run WebAssembly, in which plans run, and reach nothing at all.
inline constexpr std::string_view compiler_policy =
    "default-src 'none'; script-src 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types 'none'";

/// One file of the page, and the path of its URL.
struct page_file {
  std::string_view path;
  std::string_view type;
  std::string_view text;
};

/// All of them as they lay in rankd/server/page when this was built; the page itself, `/ui`, comes first.
[[nodiscard]] auto page_files() noexcept -> std::span<const page_file>;

}  // namespace rankd
