// cmake/precompiled_engine.hpp: precompiled_ops.hpp, and what nearly every source of the engine and above includes.
#pragma once

#include "precompiled_ops.hpp"

#include <rankd/engine/engine.hpp>
#include <rankd/engine/plans/plan_library.hpp>
