// braid/http.hpp: HTTP/1.1 server and client.
// It contains `http_server`, `http_router` and `http_exchange`; `http_client`, `http_client::call` and
// `http_client::answer`; `http_url`, `http_status`, `http_method`, `http_fields` and `http_errc`; `http_events` and
// `websocket`; `trace_context`. Parsers and the encoder, for other uses of the protocol, have separate headers.
#pragma once

#include <braid/net/http_client.hpp>
#include <braid/net/http_events.hpp>
#include <braid/net/http_message.hpp>
#include <braid/net/http_server.hpp>
#include <braid/net/trace_context.hpp>
#include <braid/net/websocket.hpp>
