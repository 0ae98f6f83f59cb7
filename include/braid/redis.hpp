// braid/redis.hpp: Redis client (RESP2 and RESP3): pipelined connections, pools, clusters, batches. Guide:
// docs/redis.md It contains `redis_connection`, `redis_pool` and `redis_cluster`, each with the commands as awaitables;
// `redis_batch`; `resp_value`; `redis_errc`; and the options. The parser and the writer of the protocol have separate
// headers.
#pragma once

#include <braid/net/detail/redis_calls.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/net/resp.hpp>
