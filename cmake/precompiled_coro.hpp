// cmake/precompiled_coro.hpp: precompiled.hpp, and what nearly every source above the layer task includes.
#pragma once

#include "precompiled.hpp"

#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
