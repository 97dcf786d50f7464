# SPDX-License-Identifier: Apache-2.0
# tests/cli.cmake: the tests of the command, one CTest entry per file in tests/cli.
if(NOT UPSWEEP_SANITIZER)
  set(UPSWEEP_PRELOADED "")
  foreach(name IN ITEMS few_threads quick_clock)  # loaded before the command by test_threads.py and test_terminal.py
    add_library(${name} MODULE ${name}.cpp)
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
    upsweep_warnings(${name})
    string(TOUPPER ${name} variable)
    list(APPEND UPSWEEP_PRELOADED "UPSWEEP_${variable}=$<TARGET_FILE:${name}>")
  endforeach()
endif()
set(UPSWEEP_MPIEXEC "")
if(UPSWEEP_BUILD_MPI)
  set(UPSWEEP_MPIEXEC "UPSWEEP_MPIEXEC=${MPIEXEC_EXECUTABLE}")
endif()
file(GLOB cli_tests RELATIVE ${CMAKE_CURRENT_LIST_DIR}/cli CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/cli/test_*.py)
foreach(file IN LISTS cli_tests)
  string(REGEX REPLACE "^test_(.*)\\.py$" "\\1" name ${file})
  upsweep_script_test(cli_${name} LABELS cli
    COMMAND ${CMAKE_COMMAND} -E env UPSWEEP_COMMAND=$<TARGET_FILE:upsweep_command> ${UPSWEEP_PRELOADED} ${UPSWEEP_MPIEXEC}
            CC=${CMAKE_C_COMPILER} CXX=${CMAKE_CXX_COMPILER}
            ${upsweep_test_python} ${CMAKE_CURRENT_LIST_DIR}/run_pytest.py ${CMAKE_CURRENT_LIST_DIR}/cli/test_${name}.py)
endforeach()
if(TEST cli_device)
  set_tests_properties(cli_device PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no device")
endif()
