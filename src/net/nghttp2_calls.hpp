// src/net/nghttp2_calls.hpp: declares the functions of libnghttp2, which is loaded when HTTP/2 is used for the first
// time.
#pragma once

#if __has_include(<nghttp2/nghttp2.h>)
#define BRAID_NGHTTP2

#include <nghttp2/nghttp2.h>

namespace braid::detail {

/// Pointers to the functions of libnghttp2 that braid calls. Each pointer has the name of its function without the
/// prefix `nghttp2_`.
struct nghttp2_calls {
  decltype(&::nghttp2_session_callbacks_new) session_callbacks_new = nullptr;
  decltype(&::nghttp2_session_callbacks_del) session_callbacks_del = nullptr;
  decltype(&::nghttp2_session_callbacks_set_on_begin_frame_callback) session_callbacks_set_on_begin_frame_callback =
      nullptr;
  decltype(&::nghttp2_session_callbacks_set_on_begin_headers_callback) session_callbacks_set_on_begin_headers_callback =
      nullptr;
  decltype(&::nghttp2_session_callbacks_set_on_header_callback) session_callbacks_set_on_header_callback = nullptr;
  decltype(&::nghttp2_session_callbacks_set_on_frame_recv_callback) session_callbacks_set_on_frame_recv_callback =
      nullptr;
  decltype(&::nghttp2_session_callbacks_set_on_frame_send_callback) session_callbacks_set_on_frame_send_callback =
      nullptr;
  decltype(&::nghttp2_session_callbacks_set_on_data_chunk_recv_callback)
      session_callbacks_set_on_data_chunk_recv_callback = nullptr;
  decltype(&::nghttp2_session_callbacks_set_on_stream_close_callback) session_callbacks_set_on_stream_close_callback =
      nullptr;
  decltype(&::nghttp2_option_new) option_new = nullptr;
  decltype(&::nghttp2_option_del) option_del = nullptr;
  decltype(&::nghttp2_option_set_no_auto_window_update) option_set_no_auto_window_update = nullptr;
  decltype(&::nghttp2_session_server_new2) session_server_new2 = nullptr;
  decltype(&::nghttp2_session_client_new2) session_client_new2 = nullptr;
  decltype(&::nghttp2_session_del) session_del = nullptr;
  decltype(&::nghttp2_session_mem_recv) session_mem_recv = nullptr;
  decltype(&::nghttp2_session_mem_send) session_mem_send = nullptr;
  decltype(&::nghttp2_session_want_read) session_want_read = nullptr;
  decltype(&::nghttp2_session_resume_data) session_resume_data = nullptr;
  decltype(&::nghttp2_session_consume) session_consume = nullptr;
  decltype(&::nghttp2_session_consume_connection) session_consume_connection = nullptr;
  decltype(&::nghttp2_session_get_last_proc_stream_id) session_get_last_proc_stream_id = nullptr;
  decltype(&::nghttp2_session_get_remote_settings) session_get_remote_settings = nullptr;
  decltype(&::nghttp2_session_get_stream_user_data) session_get_stream_user_data = nullptr;
  decltype(&::nghttp2_session_set_stream_user_data) session_set_stream_user_data = nullptr;
  decltype(&::nghttp2_session_set_local_window_size) session_set_local_window_size = nullptr;
  decltype(&::nghttp2_session_terminate_session) session_terminate_session = nullptr;
  decltype(&::nghttp2_submit_settings) submit_settings = nullptr;
  decltype(&::nghttp2_submit_headers) submit_headers = nullptr;
  decltype(&::nghttp2_submit_request) submit_request = nullptr;
  decltype(&::nghttp2_submit_response) submit_response = nullptr;
  decltype(&::nghttp2_submit_trailer) submit_trailer = nullptr;
  decltype(&::nghttp2_submit_rst_stream) submit_rst_stream = nullptr;
  decltype(&::nghttp2_submit_goaway) submit_goaway = nullptr;
  decltype(&::nghttp2_submit_shutdown_notice) submit_shutdown_notice = nullptr;
  decltype(&::nghttp2_submit_ping) submit_ping = nullptr;
};

/// Loads the library if it is not loaded yet. Returns null if it cannot be loaded; the next call tries again.
/// Threads: any. Blocks: the first call, to load the library.
[[nodiscard]] auto find_nghttp2() -> const nghttp2_calls*;

}  // namespace braid::detail

#endif
