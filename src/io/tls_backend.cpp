// src/io/tls_backend.cpp: finding the library that calls OpenSSL, which lies beside this one.
#include "tls_backend.hpp"

#include "tls_engine.hpp"

#if !defined(BRAID_STATIC)

#include <braid/sync/atomic.hpp>

#include <string_view>

#include <dlfcn.h>

#endif

namespace braid::detail {

tls_setup::~tls_setup() = default;
tls_engine::~tls_engine() = default;

#if defined(BRAID_STATIC)

auto find_tls_backend() -> const tls_backend* { return &::braid_tls_backend; }

#else

namespace {

/// Has the version in its name: a table of another one has other entries.
constexpr std::string_view file_name = BRAID_TLS_LIBRARY;

/// The folder of the library that this code is in, with the slash behind it; empty where that is not known.
auto own_folder() -> std::string {
  ::Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&find_tls_backend), &here) == 0 || here.dli_fname == nullptr) return {};
  const std::string_view path = here.dli_fname;
  return std::string(path.substr(0, path.rfind('/') + 1));
}

/// By its path first: where both lie is nowhere else known, and a sanitizer's `dlopen` forgets for whom it looks.
auto load() -> const tls_backend* {
  const std::string path = own_folder().append(file_name);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen(file_name.data(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return static_cast<const tls_backend*>(::dlsym(library, "braid_tls_backend"));
}

}  // namespace

/// Who loads it twice gets the same one. It stays loaded, because connections may live until the end of the process.
auto find_tls_backend() -> const tls_backend* {
  constinit static atomic<const tls_backend*> found{nullptr};  // written by who has loaded it
  const tls_backend* known = found.load(acquire);              // edge tls_backend.loaded: observe
  if (known != nullptr) return known;
  known = load();
  if (known != nullptr) found.store(known, release);  // edge tls_backend.loaded: publish
  return known;
}

#endif

}  // namespace braid::detail
