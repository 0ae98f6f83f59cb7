// tests/support/precompiled_rankd.hpp: precompiled.hpp, and what nearly every test of rankd includes.
#pragma once

#include "precompiled.hpp"

#include <nlohmann/json.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/engine/plans/plan_library.hpp>
