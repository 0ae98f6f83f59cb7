// braid/io.hpp: event loop, sockets, files, child processes, signals, name resolution and TLS.
// It contains `loop` and `loop_timers`; `stream_socket`, `stream_listener`, `udp_socket` and `pipe_stream`, with
// `buffered_reader`; `socket_address` and `resolver`; `tls_stream` and `tls_context`; `file`; `child_process`;
// `signal_set`; `readable` and `writable`. Backends of loops (braid/io/backend.hpp) and protocols over any transport
// (braid/io/tls.hpp) have separate headers.
#pragma once

#include <braid/io/backend.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/detail/loop_timers.hpp>
#include <braid/io/file.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/process.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
