// SPDX-License-Identifier: Apache-2.0
// tests/world.hpp: the rank of this process and the number of ranks.
#pragma once

#include <mpi.h>

namespace upsweep {

struct World {
  int rank = 0;
  int size = 1;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

}  // namespace upsweep
