// src/net/nghttp2_calls.cpp: loads libnghttp2, and finds its functions.
#include "nghttp2_calls.hpp"

#if defined(BRAID_NGHTTP2)

#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <mutex>
#include <optional>

#include <dlfcn.h>

namespace braid::detail {
namespace {

/// The file name of the library. Its version is that of the header with which this file was compiled.
constexpr const char* library_name = "libnghttp2.so.14";
static_assert(NGHTTP2_VERSION_NUM < 0x020000,
              "this library name belongs to nghttp2 1: adapt it to the new major version");

template <typename Call>
auto find(void* library, const char* name, Call& call) -> bool {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

auto find_all(void* library, nghttp2_calls& calls) -> bool {
#define BRAID_FIND(name) find(library, "nghttp2_" #name, calls.name)
  return BRAID_FIND(session_callbacks_new) && BRAID_FIND(session_callbacks_del) &&
         BRAID_FIND(session_callbacks_set_on_begin_frame_callback) &&
         BRAID_FIND(session_callbacks_set_on_begin_headers_callback) &&
         BRAID_FIND(session_callbacks_set_on_header_callback) &&
         BRAID_FIND(session_callbacks_set_on_frame_recv_callback) &&
         BRAID_FIND(session_callbacks_set_on_frame_send_callback) &&
         BRAID_FIND(session_callbacks_set_on_data_chunk_recv_callback) &&
         BRAID_FIND(session_callbacks_set_on_stream_close_callback) && BRAID_FIND(option_new) &&
         BRAID_FIND(option_del) && BRAID_FIND(option_set_no_auto_window_update) && BRAID_FIND(session_server_new2) &&
         BRAID_FIND(session_client_new2) && BRAID_FIND(submit_request) && BRAID_FIND(session_get_remote_settings) &&
         BRAID_FIND(session_del) && BRAID_FIND(session_mem_recv) && BRAID_FIND(session_mem_send) &&
         BRAID_FIND(session_want_read) && BRAID_FIND(session_resume_data) && BRAID_FIND(session_consume) &&
         BRAID_FIND(session_consume_connection) && BRAID_FIND(session_get_last_proc_stream_id) &&
         BRAID_FIND(session_get_stream_user_data) && BRAID_FIND(session_set_stream_user_data) &&
         BRAID_FIND(session_set_local_window_size) && BRAID_FIND(session_terminate_session) &&
         BRAID_FIND(submit_settings) && BRAID_FIND(submit_headers) && BRAID_FIND(submit_response) &&
         BRAID_FIND(submit_trailer) && BRAID_FIND(submit_rst_stream) && BRAID_FIND(submit_goaway) &&
         BRAID_FIND(submit_shutdown_notice) && BRAID_FIND(submit_ping);
#undef BRAID_FIND
}

constinit fork_safe_mutex loading;
constinit std::optional<nghttp2_calls> loaded;  // written once, under the lock

}  // namespace

/// Never unloads the library, because connections may exist until the end of the process.
auto find_nghttp2() -> const nghttp2_calls* {
  const std::lock_guard guard(loading);
  if (loaded) return &*loaded;
  void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  nghttp2_calls calls;
  if (!find_all(library, calls)) return nullptr;
  loaded = calls;
  return &*loaded;
}

}  // namespace braid::detail

#endif
