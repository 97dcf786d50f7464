# SPDX-License-Identifier: Apache-2.0
# cmake/mpi.cmake: decides whether programs for MPI are built, and prints why; sets UPSWEEP_BUILD_MPI. The target
# upsweep::mpi, for mpi.hpp, needs MPI only where it is used.

set(UPSWEEP_MPI AUTO CACHE STRING "Build what runs under MPI, the command's --mpi and tests: AUTO (where MPI is found), ON or OFF")
set_property(CACHE UPSWEEP_MPI PROPERTY STRINGS AUTO ON OFF)

set(UPSWEEP_BUILD_MPI FALSE)
string(TOUPPER "${UPSWEEP_MPI}" upsweep_mpi)
if(upsweep_mpi STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(UPSWEEP_BUILD_MPI TRUE)
    message(STATUS "upsweep: MPI is used: ${MPIEXEC_EXECUTABLE} (UPSWEEP_MPI=AUTO)")
  else()
    message(STATUS "upsweep: MPI is not used: none was found (UPSWEEP_MPI=AUTO)")
  endif()
elseif(upsweep_mpi)
  find_package(MPI REQUIRED COMPONENTS CXX)
  set(UPSWEEP_BUILD_MPI TRUE)
endif()
