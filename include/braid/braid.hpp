// braid/braid.hpp: the umbrella header, with all that a program needs: tasks, pools, graphs, I/O, HTTP, Redis.
// In it: a header for each part, which programs may include alone, and `runtime` with the runtime of the process. What
// extends the library (a scheduling policy, a backend, a parser for other uses) has headers of its own, below.
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
