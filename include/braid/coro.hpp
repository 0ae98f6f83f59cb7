// braid/coro.hpp: coroutines with structured concurrency: tasks, scopes, deadlines, channels, fibers.
// It contains `task`, `scope`, `with_scope`, `with_timeout` and `sleep_for`; `spawn`, `offload`, `schedule_on` and
// `sync_wait`; `when_all` and `when_any`; awaitables for futures and callbacks; generators; locks, semaphores, events,
// latches and barriers between tasks; four kinds of channels; task-local values; coroutines that fork; fibers.
#pragma once

#include <braid/coro/await_callback.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/broadcast.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/dump.hpp>
#include <braid/coro/fiber.hpp>
#include <braid/coro/fork_task.hpp>
#include <braid/coro/generator.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
