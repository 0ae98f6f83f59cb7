// braid/braid.hpp: the umbrella header, with what most programs need: tasks, pools, graphs, I/O, HTTP, Redis.
// It includes the runtime and one header for each part. Programs may also include these headers separately. It does not
// include three parts that few programs need: job slabs (braid/slab.hpp), senders of std::execution
// (braid/execution.hpp) and the registry of threads (braid/threads.hpp). Interfaces for extending the library (a
// scheduling policy, a backend, a parser for other uses) also have separate headers.
#pragma once

#include <braid/base.hpp>
#include <braid/coro.hpp>
#include <braid/graph.hpp>
#include <braid/http.hpp>
#include <braid/io.hpp>
#include <braid/redis.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task.hpp>
#include <braid/thread.hpp>
#include <braid/trace/trace.hpp>
