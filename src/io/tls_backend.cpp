// src/io/tls_backend.cpp: loads libbraid_tls, the library that calls OpenSSL, from the folder of this library.
#include "tls_backend.hpp"

#include "tls_engine.hpp"

#if !defined(BRAID_STATIC) && !defined(BRAID_WITHOUT_TLS)

#include <braid/sync/atomic.hpp>

#include <climits>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <dlfcn.h>

#endif

namespace braid::detail {

tls_setup::~tls_setup() = default;
tls_engine::~tls_engine() = default;

#if defined(BRAID_WITHOUT_TLS)

auto find_tls_backend() -> const tls_backend* { return nullptr; }

#elif defined(BRAID_STATIC)

auto find_tls_backend() -> const tls_backend* { return &::braid_tls_backend; }

#else

namespace {

/// The file name of the library. The name includes the version, because the function table of another version has other
/// entries.
constexpr std::string_view file_name = BRAID_TLS_LIBRARY;

/// Returns the folder of the library that contains this code, or an empty path if the folder is unknown. The path from
/// the loader is made absolute, because the working directory may have changed. Symbolic links are resolved, because
/// libbraid_tls is next to the real file.
auto own_folder() -> std::filesystem::path {
  ::Dl_info here{};
  void* map = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(&find_tls_backend), &here, &map, RTLD_DL_LINKMAP) == 0) return {};
  char folder[PATH_MAX];
  if (here.dli_fname == nullptr || ::dlinfo(map, RTLD_DI_ORIGIN, folder) != 0) return {};
  const auto found = folder / std::filesystem::path(here.dli_fname).filename();
  std::error_code failed;
  const auto file = std::filesystem::canonical(found, failed);
  return (failed ? found : file).parent_path();
}

/// Loads the library by its full path. The loader's search path may not contain the folder, and a sanitizer's `dlopen`
/// does not know which library has called it.
auto load() -> const tls_backend* {
  void* const library = ::dlopen((own_folder() / file_name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return static_cast<const tls_backend*>(::dlsym(library, "braid_tls_backend"));
}

}  // namespace

/// Returns the function table of libbraid_tls. Two threads may load the library at the same time, because both get the
/// same table. The library is never unloaded, because connections may exist until the process exits.
auto find_tls_backend() -> const tls_backend* {
  constinit static atomic<const tls_backend*> found{nullptr};  // written by a loading thread
  // edge tls_backend.loaded: observe, the contents of the loaded table are seen
  const tls_backend* known = found.load(acquire);
  if (known != nullptr) return known;
  known = load();
  // edge tls_backend.loaded: publish, other threads see the contents of the table
  if (known != nullptr) found.store(known, release);
  return known;
}

#endif

}  // namespace braid::detail
