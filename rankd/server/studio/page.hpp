// rankd/server/studio/page.hpp: the files of the web page that shows plans, embedded in the program.
#pragma once

#include <span>
#include <string_view>

namespace rankd {

/// The Content Security Policy of the page. A browser may load files only from this server, including the worker
/// scripts `layout` and `compiler`. It may send requests only to this server.
inline constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types layout compiler";

/// The Content Security Policy of the worker that compiles plans. The worker may run WebAssembly, because the compiler
/// executes the sources of plans in an interpreter that is compiled to WebAssembly. The worker cannot send any request.
inline constexpr std::string_view compiler_policy =
    "default-src 'none'; script-src 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types 'none'";

/// One file of the page, and the path of its URL.
struct page_file {
  std::string_view path;
  std::string_view type;
  std::string_view text;
};

/// Returns the files that rankd/server/page contained at build time. The page itself, `/ui`, is the first.
[[nodiscard]] auto page_files() noexcept -> std::span<const page_file>;

}  // namespace rankd
