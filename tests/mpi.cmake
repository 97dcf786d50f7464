# SPDX-License-Identifier: Apache-2.0
# tests/mpi.cmake: tests that run on several ranks of MPI, on this machine, and on several hosts that are emulated on
# it.

# upsweep_mpi_properties(NAME LABELS): settings that allow these tests to run as any user and on few cores. Open MPI
# reads these variables; other MPI libraries do not need them.
function(upsweep_mpi_properties name labels)
  upsweep_test_properties(${name} "${labels}")
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none)
  set_tests_properties(${name} PROPERTIES PROCESSORS 2)
endfunction()

# upsweep_mpi_test(NAME [LABELS label…] RANKS count… SOURCES file… [LIBS target…]): one test for each number of ranks,
# NAME_COUNT. The program defines its own main().
function(upsweep_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;RANKS;SOURCES;LIBS")
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE upsweep_mpi ${arg_LIBS})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(test_${name} PRIVATE -O1)
  upsweep_warnings(test_${name})
  upsweep_cuda_program(${name} "${arg_LABELS}")
  foreach(ranks IN LISTS arg_RANKS)
    add_test(NAME ${name}_${ranks}
      COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:test_${name}> --gtest_brief=1)
    upsweep_mpi_properties(${name}_${ranks} "${arg_LABELS}")
  endforeach()
endfunction()

upsweep_mpi_test(mpi RANKS 1 2 3 8 SOURCES mpi_main.cpp mpi_test.cpp LIBS GTest::gtest)
upsweep_mpi_test(mpi_large LABELS large RANKS 2 SOURCES mpi_main.cpp mpi_large_test.cpp LIBS GTest::gtest)
upsweep_mpi_test(guide_mpi RANKS 4 SOURCES guide_mpi.cpp)
if(UPSWEEP_BUILD_CUDA)
  upsweep_mpi_test(cuda_mpi RANKS 1 3 SOURCES mpi_main.cpp cuda_mpi_test.cpp LIBS GTest::gtest)
endif()

# Ranks without shared memory, which communicate by TCP: several emulated hosts on this machine.
add_test(NAME mpi_hosts_3
  COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/mpi_hosts.sh ${MPIEXEC_EXECUTABLE} 3 $<TARGET_FILE:test_mpi> --gtest_brief=1)
upsweep_mpi_properties(mpi_hosts_3 "")
