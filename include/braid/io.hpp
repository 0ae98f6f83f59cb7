// braid/io.hpp: event loop, sockets, files, child processes, signals, name resolution and TLS.
// In it: `loop` and `loop_timers`; `stream_socket`, `stream_listener`, `udp_socket` and `pipe_stream`, with
// `buffered_reader`; `socket_address` and `resolver`; `tls_stream` and `tls_context`; `file`; `child_process`;
// `signal_set`; `readable` and `writable`. Backends of loops (braid/io/backend.hpp) and protocols over any transport
// (braid/io/transport.hpp) have headers of their own.
#pragma once

#include <braid/io/buffered_reader.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/child_process.hpp>
#include <braid/io/descriptor.hpp>
#include <braid/io/file.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/detail/loop_timers.hpp>
#include <braid/io/pipe_stream.hpp>
#include <braid/io/readiness.hpp>
#include <braid/io/resolver.hpp>
#include <braid/io/signal_set.hpp>
#include <braid/io/socket_address.hpp>
#include <braid/io/stream_listener.hpp>
#include <braid/io/stream_socket.hpp>
#include <braid/io/tls_context.hpp>
#include <braid/io/tls_error.hpp>
#include <braid/io/tls_stream.hpp>
#include <braid/io/udp_socket.hpp>
