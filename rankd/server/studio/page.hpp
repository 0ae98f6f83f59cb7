// rankd/server/studio/page.hpp: the files of the page that shows plans, embedded in the program.
#pragma once

#include <span>
#include <string_view>

namespace rankd {

/// The policy of the page (Content Security Policy): a browser may load its own files, including the scripts of workers
/// that `layout` and `compiler` name, and send requests to its own server.
inline constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types layout compiler";

/// The policy of the worker that compiles plans: it may run WebAssembly, in which plans run, and reach nothing at all.
inline constexpr std::string_view compiler_policy =
    "default-src 'none'; script-src 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types 'none'";

/// One file of the page, and the path of its URL.
struct page_file {
  std::string_view path;
  std::string_view type;
  std::string_view text;
};

/// Returns all files of rankd/server/page at build time; the page itself, `/ui`, comes first.
[[nodiscard]] auto page_files() noexcept -> std::span<const page_file>;

}  // namespace rankd
