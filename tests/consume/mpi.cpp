// SPDX-License-Identifier: Apache-2.0
// tests/consume/mpi.cpp: a sum over all ranks; if the program is started without mpiexec, there is one rank.
#include "upsweep/mpi.hpp"

#include <cstdint>
#include <vector>

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const std::vector<std::int32_t> share{3, 4, 5};
  const auto sum = upsweep::mpi::reduce(MPI_COMM_WORLD, upsweep::par, share.data(), std::ssize(share), std::int64_t{0});
  MPI_Finalize();
  return sum.value == 12 ? 0 : 1;
}
