# SPDX-License-Identifier: Apache-2.0
# tests/cli.cmake: the tests of the command, one CTest entry per file in tests/cli.
if(NOT UPSWEEP_SANITIZER)
  add_library(few_threads MODULE few_threads.cpp)  # loaded before the command by test_threads.py
  target_link_libraries(few_threads PRIVATE ${CMAKE_DL_LIBS})
  upsweep_warnings(few_threads)
  set(UPSWEEP_FEW_THREADS "UPSWEEP_FEW_THREADS=$<TARGET_FILE:few_threads>")
endif()
set(UPSWEEP_MPIEXEC "")
if(UPSWEEP_BUILD_MPI)
  set(UPSWEEP_MPIEXEC "UPSWEEP_MPIEXEC=${MPIEXEC_EXECUTABLE}")
endif()
foreach(name IN ITEMS scan reduce offsets segment select pack files csv help messages nulls query query_random spill subset_sum ladder guest bench streams terminal threads device mpi)
  upsweep_script_test(cli_${name} LABELS cli
    COMMAND ${CMAKE_COMMAND} -E env UPSWEEP_COMMAND=$<TARGET_FILE:upsweep_command> ${UPSWEEP_FEW_THREADS} ${UPSWEEP_MPIEXEC}
            CC=${CMAKE_C_COMPILER} CXX=${CMAKE_CXX_COMPILER}
            ${upsweep_test_python} ${CMAKE_CURRENT_LIST_DIR}/run_pytest.py ${CMAKE_CURRENT_LIST_DIR}/cli/test_${name}.py)
endforeach()
if(TEST cli_device)
  set_tests_properties(cli_device PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no device")
endif()
