// tests/shared/loaded_plugin.hpp: a plug-in of the tests, from dlopen to dlclose.
#pragma once

#include <tests/shared/plugin/plugin.hpp>

#include <stdexcept>

#include <dlfcn.h>

namespace braid::testing {

class loaded_plugin {
 public:
  explicit loaded_plugin(const char* path) : handle_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(::dlerror());
    void* symbol = ::dlsym(handle_, "braid_test_plugin");
    if (symbol == nullptr) throw std::runtime_error(::dlerror());
    functions_ = reinterpret_cast<decltype(&braid_test_plugin)>(symbol)();
  }
  loaded_plugin(const loaded_plugin&) = delete;
  auto operator=(const loaded_plugin&) -> loaded_plugin& = delete;
  ~loaded_plugin() { ::dlclose(handle_); }

  auto operator->() const noexcept -> const plugin_functions* { return functions_; }

 private:
  void* handle_;
  const plugin_functions* functions_;
};

/// Whether the object is in the process.
inline auto is_loaded(const char* path) -> bool {
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

}  // namespace braid::testing
