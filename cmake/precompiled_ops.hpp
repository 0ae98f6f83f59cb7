// cmake/precompiled_ops.hpp: precompiled_rankd.hpp, and what nearly every source that runs operators includes.
#pragma once

#include "precompiled_rankd.hpp"

#include <rankd/op/operator.hpp>
